-- The hardware of this host and the efficiency of its CPUs: instructions per cycle, caches, branches; and the usage of the host
-- and its JVMs.
--   atalaya run pipelines/hardware.lua        (as root, or with the drop-in counters; needs a PMU, which most virtual machines lack)
--   atalaya query --metric sys.counters.ipc --from -10m
-- The store is atalaya.db in the state folder.
local a = require "atalaya"
local common = require "atalaya.common"

local store = a.sink.sqlite {}

a.pipeline "counters" {
  every = "10s",
  a.source.counters { processes = { "java" } },
  a.translate.names {},  -- the same names as in the other pipelines
  store,
}

-- As in host.lua: in one run with it, each is collected once.
common.host { every = "5s", store }
common.processes { every = "5s", store }

-- Rare changes: read every ten minutes, reported when they change.
a.pipeline "inventory" {
  every = "10m",
  a.source.inventory {},
  store,
}
