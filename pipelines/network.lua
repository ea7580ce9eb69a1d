-- Who talks to whom: the traffic of each process, and of each pair of peers, into the embedded store.
--   atalaya run pipelines/network.lua        (as root, or with the drop-in net-bpf)
-- What moves most now goes to talkers.jsonl beside the store.
local a = require "atalaya"

local store = a.sink.sqlite {}

a.pipeline "network" {
  every = "5s",
  -- TCP from the kernel's own counters, UDP by its system calls: without `udp` nothing stands in the way of the data. Connections to
  -- one port are one flow.
  a.source.net { udp = true },
  -- java becomes NodeManager or executor, of processes and of flows; containers are tags.
  a.translate.names { tags = { "container" } },
  store,
}

-- The flows alone, the ten that move most bytes each way.
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

a.pipeline "self" {
  every = "30s",
  a.source.self {},
  store,
}
