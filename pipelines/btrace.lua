-- Jobs from their logs and BTrace scripts: tasks, phases and code regions as spans, numbers as metrics; and the host and its
-- processes at the same time.
--   atalaya run pipelines/btrace.lua         (as a user with read access to the logs, or with the drop-in btrace-logs)
-- The store is atalaya.db in the state folder. Scripts for Hadoop's phases: examples/btrace; the lines: docs/how-to/phase-lines.md.
local a = require "atalaya"

local store = a.sink.sqlite {}

a.pipeline "phases" {
  a.source.btrace { path = "/var/log/btrace/*.btrace" },
  store,
}

-- As in host.lua: in one run with it, each is collected once.
a.pipeline "host" {
  every = "5s",
  a.source.proc { processes = false },
  store,
}

a.pipeline "processes" {
  every = "5s",
  a.source.proc { host = false, cgroups = false },
  a.translate.names { tags = { "container", "unit", "job" } },
  a.filter.value {
    ["proc.cpu.user"] = 0.1,
    ["proc.cpu.kernel"] = 0.1,
    ["proc.disk.reads.mb"] = 0.01,
    ["proc.disk.writes.mb"] = 0.01,
    ["proc.mem.resident"] = 10,
  },
  store,
}
