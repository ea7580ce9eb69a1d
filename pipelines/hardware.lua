-- What this host is made of, and how well its CPUs get on: instructions a cycle, caches, branches, beside what the host and its
-- JVMs use.
--   atalaya run pipelines/hardware.lua        (as root, or with the drop-in counters; a PMU is wanted, most virtual machines have none)
--   atalaya query --metric sys.counters.ipc --from -10m
-- It goes to the store, atalaya.db in the state folder.
local a = require "atalaya"

local store = a.sink.sqlite {}

a.pipeline "counters" {
  every = "10s",
  a.source.counters { processes = { "java" } },
  a.translate.names {},  -- the names that the other pipeline has
  store,
}

a.pipeline "host" {
  every = "10s",
  a.source.proc { cgroups = false },
  a.translate.names {},
  a.filter.value { ["proc.cpu.user"] = 0.5, ["proc.cpu.kernel"] = 0.5, ["proc.disk.writes.mb"] = 0.05 },
  store,
}

-- What does not change each second: looked at each ten minutes, told when it changes.
a.pipeline "inventory" {
  every = "10m",
  a.source.inventory {},
  store,
}
