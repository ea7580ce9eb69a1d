-- Jobs by what their own logs and BTrace scripts say: tasks, phases and code regions as spans, numbers as metrics, and beside them
-- what the host does meanwhile.
--   atalaya run pipelines/btrace.lua         (as a user who may read the logs, or with the drop-in btrace-logs)
-- It goes to the store, atalaya.db in the state folder. Scripts for Hadoop's phases: examples/btrace; the lines: docs/how-to/phase-lines.md.
local a = require "atalaya"

local store = a.sink.sqlite {}

a.pipeline "phases" {
  a.source.btrace { path = "/var/log/btrace/*.btrace" },
  store,
}

a.pipeline "host" {
  every = "5s",
  a.source.proc { cgroups = false },
  a.translate.names {},
  a.filter.value { ["proc.cpu.user"] = 0.5, ["proc.cpu.kernel"] = 0.5, ["proc.disk.writes.mb"] = 0.05 },
  store,
}
