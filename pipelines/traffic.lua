-- Traffic between processes, and the usage of each: the input of `atalaya graph` and `atalaya place`.
--   atalaya run pipelines/traffic.lua        (as root, or with the drop-ins net-bpf, nat and proc-bpf)
-- The store is atalaya.db in the state folder.
local a = require "atalaya"
local common = require "atalaya.common"

local store = a.sink.sqlite {}  -- one for all pipelines: a store has one writer

a.pipeline "network" {
  every = "5s",
  a.source.net {},
  -- Flows and processes need the same names and containers, which connect them.
  a.translate.names { tags = { "container" } },
  store,
}

-- Addresses that this host translates, such as published ports: the two ends of these connections report different ones.
a.pipeline "translations" { every = "10s", a.source.nat {}, store }

-- As in host.lua: in one run with it, each is collected once.
common.host { every = "5s", store }
common.processes { every = "5s", store }
