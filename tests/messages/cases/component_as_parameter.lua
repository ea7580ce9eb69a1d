local a = require "atalaya"

a.pipeline "hosts" {
  every = "5s",
  a.source.proc { processes = a.sink.stdout {} },
  a.sink.stdout {},
}
