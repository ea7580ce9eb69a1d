-- Where the CPU time of this host goes, by stack: 101 samples a second on each CPU, a window a minute, beside what processes use.
--   atalaya run pipelines/profile.lua        (as root, or with the drop-ins perf-bpf, perf-symbols, perf-kallsyms)
--   atalaya flamegraph -o where.svg
-- It goes to the store, atalaya.db in the state folder. Programs without frame pointers, as most distributions build them: unwind = "dwarf".
local a = require "atalaya"

local store = a.sink.sqlite {}

a.pipeline "profile" {
  every = "60s",
  a.source.perf { frequency = 101, tags = { "container", "runtime" } },
  a.translate.names {},  -- the names that the other pipeline has
  store,
}

a.pipeline "host" {
  every = "20s",
  a.source.proc { cgroups = false },
  a.translate.names {},
  a.filter.value { ["proc.cpu.user"] = 0.5, ["proc.cpu.kernel"] = 0.5, ["proc.disk.writes.mb"] = 0.05 },
  store,
}
