local a = require "atalaya"

a.pipeline "hosts" {
  every = "5s",
  a.source.proc {},
  a.filter.top { by = "proc.cpu.user", k = 0 },
  a.sink.stdout {},
}
