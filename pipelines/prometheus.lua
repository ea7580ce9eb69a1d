-- This host and its busy processes for Prometheus, which comes and fetches the latest values.
--   atalaya run pipelines/prometheus.lua
-- In prometheus.yml, with an interval not shorter than the windows here:
--   scrape_configs:
--     - job_name: atalaya
--       scrape_interval: 15s
--       static_configs: [{ targets: ["127.0.0.1:9464"] }]
-- For a Prometheus on another host: listen = "*:9464", and a file of tokens.
local a = require "atalaya"

local prometheus = a.sink.prometheus {}

a.pipeline "host" {
  every = "5s",
  a.source.proc { processes = false },
  prometheus,
}

-- Every pid is a series for each of its metrics, and Prometheus keeps them all: so the processes of one name are summed, and only
-- those that matter are shown.
a.pipeline "processes" {
  every = "5s",
  a.source.proc { host = false, cgroups = false },
  a.translate.names {},
  -- Open files are counted in turns: their sum would be of some processes only.
  a.translate.aggregate { by = "process", fields = { "*", "!*.state", "!*.start.time", "!*.pid", "!proc.files.open" } },
  a.filter.value {
    ["proc.cpu.user"] = 0.1,
    ["proc.cpu.kernel"] = 0.1,
    ["proc.disk.reads.mb"] = 0.01,
    ["proc.disk.writes.mb"] = 0.01,
    ["proc.mem.resident"] = 10,
  },
  prometheus,
}

a.pipeline "self" {
  every = "30s",
  a.source.self {},
  prometheus,
}
