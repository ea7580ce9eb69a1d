local a = require "atalaya"

local db = a.sink.sqlite { path = "/tmp/one.db" }
a.pipeline "hosts" {
  every = "5s",
  a.source.proc {},
  a.sink.stdout {},
}
