-- As profile.lua, for an hour in which every detail counts: processes every 5 s, stacks every 30 s, 202 samples a second on each CPU.
--   atalaya run pipelines/aggressive.lua --for 1h       (as root, or with the drop-ins perf-bpf, perf-symbols, perf-kallsyms)
-- What that costs is in docs/how-to/profiles.md; perf.cpu.kernel and perf.cpu.user tell it of the host that it runs on. Programs without frame
-- pointers, as most distributions build them: unwind = "dwarf".
local a = require "atalaya"

local store = a.sink.sqlite {}

a.pipeline "profile" {
  every = "30s",
  a.source.perf { frequency = 202, tags = { "container", "runtime" } },
  a.translate.names {},  -- the names that the other pipeline has
  store,
}

a.pipeline "host" {
  every = "5s",
  a.source.proc { cgroups = false },
  a.translate.names {},
  a.filter.value { ["proc.cpu.user"] = 0.5, ["proc.cpu.kernel"] = 0.5, ["proc.disk.writes.mb"] = 0.05 },
  store,
}

a.pipeline "self" {
  every = "30s",
  a.source.self {},
  store,
}
