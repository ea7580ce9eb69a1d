local a = require "atalaya"

a.pipeline "hosts" {
  every = "5s",
  a.source.proc {},
  a.filter.top { by = "proc.cpu.user", k = 1.5 },
  a.sink.stdout {},
}
