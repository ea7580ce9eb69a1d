-- Traffic of each process and of each pair of peers, into the embedded store.
--   atalaya run pipelines/network.lua        (as root, or with the drop-ins net-bpf and nat)
-- talkers.jsonl in the folder of the store has the current largest flows.
local a = require "atalaya"
local common = require "atalaya.common"

local store = a.sink.sqlite {}

a.pipeline "network" {
  every = "5s",
  -- TCP from the kernel's counters: no hook is in the path of the data. Connections to one port are one flow. { udp = true } adds
  -- UDP by two hooks on system calls, which cost about 8 % of a byte's CPU time in messages of 64 bytes. With the drop-in net-peers,
  -- unconnected sockets have their peers.
  a.source.net {},
  -- java becomes NodeManager or executor, in processes and in flows; containers are tags.
  a.translate.names { tags = { "container" } },
  store,
}

-- Addresses that this host translates, such as published ports: the two ends of these connections report different ones.
a.pipeline "translations" { every = "10s", a.source.nat {}, store }

-- The ten flows with the most bytes, both directions together.
a.pipeline "talkers" {
  a.from "network",
  a.filter.match { metric = "flow.*" },
  function(s)
    s.fields["flow.bytes"] = s.fields["flow.in.bytes"] + s.fields["flow.out.bytes"]
    return s
  end,
  a.filter.top { by = "flow.bytes", k = 10 },
  a.sink.file { path = a.state_folder .. "/talkers.jsonl", rotate_size = "64 MiB", keep = 3 },
}

common.self { every = "30s", store }
