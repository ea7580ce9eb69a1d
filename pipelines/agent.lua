-- An agent without a store: sends this host and its processes to a hub (pipelines/hub.lua). Set the hub's address below.
--   atalaya run pipelines/agent.lua
-- While the hub is unreachable, the samples are in a spool that survives restarts: atalaya spool ls spool/hub in the state folder.
-- This host names its processes, because the hub cannot read them.
local a = require "atalaya"

local hub = a.sink.http {
  url = "http://127.0.0.1:4242",
  format = "flat",
  compress = "zstd",
  spread = "3s",  -- hosts send at different moments
  -- bearer = "/etc/atalaya/token",
  spool = { dir = "spool/hub", max = "1 GiB", sync = "1s" },
}

a.pipeline "host" {
  every = "5s",
  a.source.proc { processes = false },
  hub,
}

a.pipeline "processes" {
  every = "5s",
  a.source.proc { host = false, cgroups = false, rest = "1m", rest_below = "10 MiB" },
  a.translate.names {},
  a.filter.value {
    rest = "5m",
    ["proc.cpu.user"] = 0.1,
    ["proc.cpu.kernel"] = 0.1,
    ["proc.disk.reads.mb"] = 0.01,
    ["proc.disk.writes.mb"] = 0.01,
    ["proc.mem.resident"] = 10,
  },
  hub,
}
