-- SPDX-License-Identifier: Apache-2.0
-- The pipelines of a host that many files have. Files that use them collect each once when they run together.
--
--   local common = require "atalaya.common"
--   common.host { every = "5s", SINKS... }         cores, memory, disks, interfaces, file systems, cgroups
--   common.processes { every = "5s", SINKS... }    processes with their real names; idle ones have a sample per 5 minutes
--   common.profile { every = "60s", SINKS... }     CPU time by stack of all processes, 101 samples per second on each CPU
--   common.jvm { every = "20s", SINKS... }         heap, collections and hot methods of all JVMs
--   common.self { every = "30s", SINKS... }        the agent: its CPU time, memory and losses
--
-- Of equal pipelines with several intervals the shortest one holds. What follows the interval is added after these sources and
-- stages: sinks, or a function before them. `atalaya check FILE` prints the whole pipelines. For other limits or tags, write the
-- pipeline itself.
local a = require "atalaya"

---@param name string
---@param stages fun(): (atalaya.Source|atalaya.Stage)[]
---@return fun(parts: atalaya.Pipeline)
local function pipeline(name, stages)
  return function(parts)
    if type(parts) ~= "table" then error("common." .. name .. ' takes a table, such as { every = "5s", a.sink.sqlite {} }', 2) end
    local all = stages()
    local first = #all
    for key, part in pairs(parts) do all[math.type(key) == "integer" and key + first or key] = part end
    a.pipeline(name)(all)
  end
end

return {
  host = pipeline("host", function() return { a.source.proc { processes = false } } end),

  processes = pipeline("processes", function()
    return {
      -- Live processes, processes that ended in the window, and unattributed CPU time: their sum is the busy time of the host.
      -- Those that do not run have one sample per minute, unless they are large.
      a.source.proc { host = false, cgroups = false, rest = "1m", rest_below = "10 MiB" },
      -- java becomes NodeManager, executor or kafka; python3 becomes the script. Containers, units and jobs of schedulers are tags.
      a.translate.names { tags = { "container", "unit", "job" } },
      -- Idle processes, those below all of these limits, have one sample per 5 minutes: averages and sums stay the same.
      a.filter.value {
        rest = "5m",
        ["proc.cpu.user"] = 0.1,
        ["proc.cpu.kernel"] = 0.1,
        ["proc.disk.reads.mb"] = 0.01,
        ["proc.disk.writes.mb"] = 0.01,
        ["proc.mem.resident"] = 10,
      },
    }
  end),

  profile = pipeline("profile", function()
    return {
      a.source.perf { frequency = 101, modules = true, tasks = true, tags = { "container", "runtime" } },
      a.translate.names {},  -- the same names as in the other pipelines
    }
  end),

  jvm = pipeline("jvm", function()
    return {
      a.source.jvm { budget = 2 },
      a.translate.names {},  -- the main class instead of "java"
    }
  end),

  self = pipeline("self", function() return { a.source.self {} } end),
}
