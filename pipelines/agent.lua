-- An agent that keeps nothing: this host and its busy processes to a hub (pipelines/hub.lua). Write the hub's address below.
--   atalaya run pipelines/agent.lua
local a = require "atalaya"

local hub = a.sink.http { url = "http://127.0.0.1:4242", format = "jsonlines", queue = "64 MiB", when_full = "drop_oldest" }

a.pipeline "host" {
  every = "5s",
  a.source.proc { processes = false },
  hub,
}

a.pipeline "processes" {
  every = "5s",
  a.source.proc { host = false, cgroups = false },
  a.filter.value {
    ["proc.cpu.user"] = 0.1,
    ["proc.cpu.kernel"] = 0.1,
    ["proc.disk.reads.mb"] = 0.01,
    ["proc.disk.writes.mb"] = 0.01,
    ["proc.mem.resident"] = 10,
  },
  hub,
}
