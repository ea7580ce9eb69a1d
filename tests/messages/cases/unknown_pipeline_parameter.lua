local a = require "atalaya"

a.pipeline "hosts" {
  evrey = "5s",
  a.source.proc {},
  a.sink.stdout {},
}
