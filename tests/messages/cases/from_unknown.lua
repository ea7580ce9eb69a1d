local a = require "atalaya"

a.pipeline "hosts" {
  every = "5s",
  a.source.proc {},
  a.sink.stdout {},
}

a.pipeline "copy" {
  a.from "host",
  a.sink.file { path = "/tmp/a.jsonl" },
}
