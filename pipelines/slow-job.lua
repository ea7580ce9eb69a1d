-- Why is a job on this host slow? Host, processes, traffic, stacks, waiting threads and JVMs in short windows, for a limited time.
--   atalaya run pipelines/slow-job.lua        (as root)
-- docs/tutorial/slow-job.md reads it. The store is atalaya.db in the state folder. Without a feature, its pipeline reports that once
-- and the others continue.
local a = require "atalaya"
local common = require "atalaya.common"

local store = a.sink.sqlite {}

common.host { every = "1s", store }
common.processes { every = "1s", store }

a.pipeline "network" {
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

common.jvm { every = "5s", store }
