-- CPU time of this host by stack: 101 samples per second on each CPU, windows of one minute; and the usage of processes.
--   atalaya run pipelines/profile.lua        (as root, or with the drop-ins perf-bpf, perf-symbols, perf-kallsyms)
--   atalaya flamegraph -o cpu.svg
--   atalaya flamegraph --task 17 -o task.svg   (an attempt of Spark or MapReduce: docs/how-to/tasks.md)
-- The store is atalaya.db in the state folder.
local a = require "atalaya"

local store = a.sink.sqlite {}

a.pipeline "profile" {
  every = "60s",
  a.source.perf { frequency = 101, modules = true, tasks = true, tags = { "container", "runtime" } },
  a.translate.names {},  -- the same names as in the other pipeline
  store,
}

a.pipeline "host" {
  every = "20s",
  a.source.proc { cgroups = false },
  a.translate.names {},
  a.filter.value { ["proc.cpu.user"] = 0.5, ["proc.cpu.kernel"] = 0.5, ["proc.disk.writes.mb"] = 0.05 },
  store,
}
