-- Phases of every JVM on this host: stacks once per second, the usage of their processes, and the phases in which they are.
--   atalaya run pipelines/phases.lua        (as root, or with the drop-in jvm-others)
--   atalaya phases show --from -10m
-- Phases that last less than half a minute need shorter windows: every = "200ms", interval = "100ms" and budget = 10.
-- The store is atalaya.db in the state folder: docs/how-to/phases.md.
local a = require "atalaya"

a.pipeline "phases" {
  every = "1s",
  a.source.jvm { threads = "all", interval = "500ms", top = 0 },
  a.source.proc { processes = true, host = false, cgroups = false },
  a.translate.names {},  -- the main class instead of "java"
  a.translate.phases {},
  a.filter.value { ["proc.cpu.user"] = 0.5, ["proc.cpu.kernel"] = 0.5 },
  a.sink.sqlite {},
}
