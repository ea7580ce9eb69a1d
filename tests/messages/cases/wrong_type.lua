local a = require "atalaya"

a.pipeline "hosts" {
  every = "5s",
  a.source.proc {},
  a.filter.top { by = 5 },
  a.sink.stdout {},
}
