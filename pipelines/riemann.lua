-- This host and its busy processes to a Riemann server, one event per value. A spool on disk keeps unacknowledged events.
--   atalaya run pipelines/riemann.lua
local a = require "atalaya"

-- Riemann's index keeps one event per host and service. So each process is a separate host, pid@host, and the service of a core,
-- disk, interface or mount ends in its name.
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

-- Rate of the thread dumps of each JVM, and its hottest methods with their stacks: "profiler rate", "profiler fn CLASS METHOD".
a.pipeline "jvms" {
  every = "5s",
  a.source.jvm {},
  a.translate.names {},
  function(s) if s.kind == "metrics" then return s end end,  -- Riemann has no format for other kinds
  riemann,
}
