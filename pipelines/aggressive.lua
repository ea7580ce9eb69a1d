-- Like profile.lua with more detail, for a limited time: processes every 5 s, stacks every 30 s, 202 samples per second on each CPU.
--   atalaya run pipelines/aggressive.lua --for 1h       (as root, or with the drop-ins perf-bpf, perf-symbols, perf-kallsyms)
-- docs/how-to/profiles.md states the cost; perf.cpu.kernel and perf.cpu.user measure it on this host.
local a = require "atalaya"

local store = a.sink.sqlite {}

a.pipeline "profile" {
  every = "30s",
  a.source.perf { frequency = 202, tags = { "container", "runtime" } },
  a.translate.names {},  -- the same names as in the other pipelines
  store,
}

-- As in host.lua: in one run with it, each is collected once.
a.pipeline "host" {
  every = "5s",
  a.source.proc { processes = false },
  store,
}

a.pipeline "processes" {
  every = "5s",
  a.source.proc { host = false, cgroups = false },
  a.translate.names { tags = { "container", "unit", "job" } },
  a.filter.value {
    ["proc.cpu.user"] = 0.1,
    ["proc.cpu.kernel"] = 0.1,
    ["proc.disk.reads.mb"] = 0.01,
    ["proc.disk.writes.mb"] = 0.01,
    ["proc.mem.resident"] = 10,
  },
  store,
}

a.pipeline "self" {
  every = "30s",
  a.source.self {},
  store,
}
