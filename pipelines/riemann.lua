-- This host and its busy processes to a Riemann, each value an event. What it has not answered ok to waits on disk.
--   atalaya run pipelines/riemann.lua
local a = require "atalaya"

-- Riemann's index keeps one event for each host and service. So a process is a host of its own, pid@host, and what else there are several
-- of on a host has its name behind that of the metric.
local riemann = a.sink.riemann {
  server = "127.0.0.1:5555",
  host = "pid@host",
  service_tags = { "core", "disk", "interface", "mount" },
  spool = { dir = "spool/riemann", max = "1 GiB" },
}

a.pipeline "host" {
  every = "5s",
  a.source.proc { processes = false, cgroups = false },
  riemann,
}

a.pipeline "processes" {
  every = "5s",
  a.source.proc { host = false, cgroups = false },
  a.translate.names {},
  a.filter.value {
    ["proc.cpu.user"] = 0.1,
    ["proc.cpu.kernel"] = 0.1,
    ["proc.disk.reads.mb"] = 0.01,
    ["proc.disk.writes.mb"] = 0.01,
    ["proc.mem.resident"] = 10,
  },
  riemann,
}

-- How often each JVM is looked at, and its hottest functions with their stacks: "profiler rate", "profiler fn CLASS METHOD".
a.pipeline "jvms" {
  every = "5s",
  a.source.jvm {},
  a.translate.names {},
  function(s) if s.kind == "metrics" then return s end end,  -- Riemann has no form for the others
  riemann,
}
