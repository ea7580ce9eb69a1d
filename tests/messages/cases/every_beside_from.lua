local a = require "atalaya"

a.pipeline "hosts" {
  every = "5s",
  a.source.proc {},
  a.sink.stdout {},
}

a.pipeline "copy" {
  every = "5s",
  a.from "hosts",
  a.sink.file { path = "/tmp/a.jsonl" },
}
