-- The default: every process of this host with its real name, and the host itself, into the embedded store and a JSON-lines file.
--   atalaya run pipelines/host.lua        (or ./dev run)
-- The store is atalaya.db in the state folder; processes.jsonl in the same folder has the current processes.
local a = require "atalaya"

local store = a.sink.sqlite {}  -- the default store of all commands

a.pipeline "host" {
  every = "5s",
  a.source.proc { processes = false },
  store,
}

a.pipeline "processes" {
  every = "5s",
  -- Live processes, processes that ended in the window, and unattributed CPU time: their sum is the busy time of the host.
  a.source.proc { host = false, cgroups = false },
  -- java becomes NodeManager, executor or kafka; python3 becomes the script. Containers, units and jobs of schedulers are tags.
  a.translate.names { tags = { "container", "unit", "job" } },
  -- Remove idle processes: those below all of these limits for a whole window.
  a.filter.value {
    ["proc.cpu.user"] = 0.1,
    ["proc.cpu.kernel"] = 0.1,
    ["proc.disk.reads.mb"] = 0.01,
    ["proc.disk.writes.mb"] = 0.01,
    ["proc.mem.resident"] = 10,
  },
  store,
  a.sink.file { path = a.state_folder .. "/processes.jsonl", rotate_size = "256 MiB", keep = 3 },
}

a.pipeline "self" {
  every = "30s",
  a.source.self {},
  store,
}
