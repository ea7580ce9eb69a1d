local a = require "atalaya"

a.pipeline "hosts" {
  every = "5s",
  a.source.proc {},
  a.filter.value { ["proc.cpu.user"] = 1, absent = "dorp" },
  a.sink.stdout {},
}
