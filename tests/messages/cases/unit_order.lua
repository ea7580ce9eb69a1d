local a = require "atalaya"

a.pipeline "hosts" {
  every = "30s1m",
  a.source.proc {},
  a.sink.stdout {},
}
