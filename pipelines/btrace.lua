-- Jobs from their logs and BTrace scripts: tasks, phases and code regions as spans, numbers as metrics; and the host and its
-- processes at the same time.
--   atalaya run pipelines/btrace.lua         (as a user with read access to the logs, or with the drop-in btrace-logs)
-- The store is atalaya.db in the state folder. Scripts for Hadoop's phases: examples/btrace; the lines: docs/how-to/phase-lines.md.
local a = require "atalaya"
local common = require "atalaya.common"

local store = a.sink.sqlite {}

a.pipeline "phases" {
  a.source.btrace { path = "/var/log/btrace/*.btrace" },
  store,
}

-- As in host.lua: in one run with it, each is collected once.
common.host { every = "5s", store }
common.processes { every = "5s", store }
