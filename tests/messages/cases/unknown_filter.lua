local a = require "atalaya"

a.pipeline "hosts" {
  every = "5s",
  a.source.proc {},
  a.filter.valeu { ["proc.cpu.user"] = 1 },
  a.sink.stdout {},
}
