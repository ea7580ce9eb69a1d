-- The smallest pipeline: usage of the processes of this host, as tables on the terminal.
local a = require "atalaya"

a.pipeline "minimal" {
  every = "2s",
  a.source.proc { host = false, cgroups = false },
  a.filter.value { ["proc.cpu.user"] = 1, ["proc.cpu.kernel"] = 1 },
  a.sink.stdout {},
}
