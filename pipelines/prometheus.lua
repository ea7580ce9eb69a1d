-- This host and its processes, by name, for Prometheus, which scrapes the latest values.
--   atalaya run pipelines/prometheus.lua
-- In prometheus.yml, with an interval that is at least the window here:
--   scrape_configs:
--     - job_name: atalaya
--       scrape_interval: 15s
--       static_configs: [{ targets: ["127.0.0.1:9464"] }]
-- For a Prometheus on another host: listen = "*:9464", and a file of tokens.
local a = require "atalaya"
local common = require "atalaya.common"

local prometheus = a.sink.prometheus {}

a.pipeline "host" {
  every = "5s",
  a.source.proc { processes = false },
  prometheus,
}

-- Each pid would be a series per metric, and Prometheus keeps all of them. So processes of one name are summed. Idle ones count too: a
-- name that comes and goes has no average.
a.pipeline "processes" {
  every = "5s",
  a.source.proc { host = false, cgroups = false },
  a.translate.names {},
  -- Each window counts the open files of some processes only, so their sum is excluded.
  a.translate.aggregate { by = "process", fields = { "*", "!*.state", "!*.start.time", "!*.pid", "!proc.files.open" } },
  prometheus,
}

common.self { every = "30s", prometheus }
