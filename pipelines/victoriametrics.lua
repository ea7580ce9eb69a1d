-- This host and its busy processes into VictoriaMetrics (or OpenTSDB), as points of OpenTSDB's /api/put.
--   victoria-metrics -opentsdbHTTPListenAddr=:4242
--   atalaya run pipelines/victoriametrics.lua
local a = require "atalaya"

local server = a.sink.http { url = "http://127.0.0.1:4242" }

a.pipeline "host" {
  every = "5s",
  a.source.proc { processes = false },
  server,
}

a.pipeline "processes" {
  every = "5s",
  a.source.proc { host = false, cgroups = false, rest = "1m", rest_below = "10 MiB" },
  a.translate.names { tags = { "container" } },
  a.filter.value {
    rest = "1m",
    ["proc.cpu.user"] = 0.1,
    ["proc.cpu.kernel"] = 0.1,
    ["proc.disk.reads.mb"] = 0.01,
    ["proc.disk.writes.mb"] = 0.01,
    ["proc.mem.resident"] = 10,
  },
  server,
}
