-- The default: every process of this host with its real name, and the host itself, into the embedded store and a JSON-lines file.
--   atalaya run pipelines/host.lua        (or ./dev run)
-- The store is atalaya.db in the state folder; processes.jsonl in the same folder has the current processes.
local a = require "atalaya"
local common = require "atalaya.common"

local store = a.sink.sqlite {}  -- the default store of all commands

common.host { every = "5s", store }

common.processes {
  every = "5s",
  store,
  a.sink.file { path = a.state_folder .. "/processes.jsonl", rotate_size = "256 MiB", keep = 3 },
}

common.self { every = "30s", store }
