local a = require "atalaya"

a.pipeline "my hosts" {
  every = "5s",
  a.source.proc {},
  a.sink.stdout {},
}
