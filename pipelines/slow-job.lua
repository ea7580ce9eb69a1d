-- Why is a job on this host slow? Host, processes, traffic, stacks, waiting threads and JVMs in short windows, for a limited time.
--   atalaya run pipelines/slow-job.lua        (as root)
-- docs/tutorial/slow-job.md reads it. The store is atalaya.db in the state folder. Without a feature, its pipeline reports that once
-- and the others continue.
local a = require "atalaya"

local store = a.sink.sqlite {}

a.pipeline "host" {
  every = "1s",
  a.source.proc { processes = false },
  store,
}

a.pipeline "processes" {
  every = "1s",
  a.source.proc { host = false, cgroups = false, rest = "1m" },
  a.translate.names { tags = { "container" } },
  -- Processes with little work have one sample per minute: averages and sums stay the same.
  a.filter.value {
    rest = "1m",
    ["proc.cpu.user"] = 0.5,
    ["proc.cpu.kernel"] = 0.5,
    ["proc.disk.reads.mb"] = 0.01,
    ["proc.disk.writes.mb"] = 0.01,
  },
  store,
}

a.pipeline "traffic" {
  every = "1s",
  a.source.net {},
  a.translate.names { tags = { "container" } },
  store,
}

-- CPU time and waiting time by stack.
a.pipeline "stacks" {
  every = "5s",
  a.source.perf { profile = "both", tags = { "container", "runtime" } },
  a.translate.names {},
  store,
}

a.pipeline "jvms" {
  every = "5s",
  a.source.jvm { budget = 2 },
  a.translate.names {},
  store,
}
