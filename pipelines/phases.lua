-- Phases of every JVM on this host: stacks once per second, the usage of their processes, and the phases in which they are.
--   atalaya run pipelines/phases.lua        (as root, or with the drop-in jvm-others)
--   atalaya phases show --from -10m
-- Phases that last less than half a minute need shorter windows: every = "200ms", interval = "100ms" and budget = 10.
-- The store is atalaya.db in the state folder: docs/how-to/phases.md.
local a = require "atalaya"
local common = require "atalaya.common"

local store = a.sink.sqlite {}

a.pipeline "jvm-phases" {
  every = "1s",
  a.source.jvm { threads = "all", interval = "500ms", top = 0 },
  a.source.proc { processes = true, host = false, cgroups = false },
  a.translate.names {},  -- the main class instead of "java"
  a.translate.phases {},
  -- Keeps phases and stacks: the other pipelines store the usage of processes and the metrics of JVMs.
  function(s)
    if s.kind ~= "metrics" then return s end
    for name in pairs(s.fields) do
      if name:find("^phase%.") then return s end
    end
  end,
  store,
}

common.host { every = "1s", store }
common.processes { every = "1s", store }
common.jvm { every = "5s", store }

local phase = { tags = { pid = "1", process = "Sort", phase = "Sort.merge" }, fields = { ["phase.cpu"] = 90.0 } }
local stack = { kind = "stack", text = "Sort.main;Sort.merge", tags = { pid = "1", profile = "wall" }, fields = { ["profile.samples"] = 3 } }

a.test "phases and stacks pass; values of other pipelines do not" {
  pipeline = "jvm-phases",
  input = {
    phase,
    stack,
    { tags = { pid = "1", process = "Sort" }, fields = { ["proc.cpu.user"] = 90.0 } },
    { tags = { pid = "1", process = "Sort" }, fields = { ["jvm.heap.used"] = 90.0, ["proc.start.time"] = 1.0 } },
  },
  expect = { phase, stack },
}
