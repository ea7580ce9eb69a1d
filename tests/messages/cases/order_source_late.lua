local a = require "atalaya"

a.pipeline "hosts" {
  every = "5s",
  a.filter.value { ["proc.cpu.user"] = 1 },
  a.source.proc {},
  a.sink.stdout {},
}
