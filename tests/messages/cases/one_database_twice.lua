local a = require "atalaya"

a.pipeline "hosts" {
  every = "5s",
  a.source.proc {},
  a.sink.sqlite { path = "/tmp/one.db" },
}

a.pipeline "again" {
  every = "5s",
  a.source.proc {},
  a.sink.sqlite { path = "/tmp/./one.db" },
}
