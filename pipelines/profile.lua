-- CPU time of this host by stack: 101 samples per second on each CPU, windows of one minute; and the usage of processes.
--   atalaya run pipelines/profile.lua        (as root, or with the drop-ins perf-bpf, perf-symbols, perf-kallsyms)
--   atalaya flamegraph -o cpu.svg
--   atalaya flamegraph --task 17 -o task.svg   (an attempt of Spark or MapReduce: docs/how-to/tasks.md)
-- With wakers = "1s", the source also records for whom threads wait, in bursts (docs/how-to/profiles.md).
-- The store is atalaya.db in the state folder.
local a = require "atalaya"
local common = require "atalaya.common"

local store = a.sink.sqlite {}

common.profile { every = "60s", store }

-- As in host.lua: in one run with it, each is collected once.
common.host { every = "5s", store }
common.processes { every = "5s", store }
