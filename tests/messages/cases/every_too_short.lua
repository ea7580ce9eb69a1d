local a = require "atalaya"

a.pipeline "hosts" {
  every = "50ms",
  a.source.proc {},
  a.sink.stdout {},
}
