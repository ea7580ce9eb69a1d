local a = require "atalaya"

a.pipeline "hosts" {
  every = "5 sec",
  a.source.proc {},
  a.sink.stdout {},
}
