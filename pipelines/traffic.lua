-- Who talks to whom, and what each of them uses: all that `atalaya graph` and `atalaya place` read.
--   atalaya run pipelines/traffic.lua        (as root, or with the drop-ins net-bpf and proc-bpf)
-- The store is atalaya.db in the state folder.
local a = require "atalaya"

local store = a.sink.sqlite {}  -- one for both: a store is written by one agent

a.pipeline "network" {
  every = "5s",
  a.source.net { udp = true },
  -- Flows and processes have the same names and containers, by which they are found to belong together.
  a.translate.names { tags = { "container" } },
  store,
}

-- Cores and memory of the host, and all of its processes: idle ones take memory, too.
a.pipeline "load" {
  every = "5s",
  a.source.proc { cgroups = false },
  a.translate.names { tags = { "container" } },
  store,
}
