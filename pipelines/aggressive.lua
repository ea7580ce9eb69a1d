-- Like profile.lua with more detail, for a limited time: processes every 5 s, stacks every 30 s, 202 samples per second on each CPU.
--   atalaya run pipelines/aggressive.lua --for 1h       (as root, or with the drop-ins perf-bpf, perf-symbols, perf-kallsyms)
-- docs/how-to/profiles.md states the cost; perf.cpu.kernel and perf.cpu.user measure it on this host.
local a = require "atalaya"
local common = require "atalaya.common"

local store = a.sink.sqlite {}

a.pipeline "profile" {
  every = "30s",
  a.source.perf { frequency = 202, tags = { "container", "runtime" } },
  a.translate.names {},  -- the same names as in the other pipelines
  store,
}

-- As in host.lua: in one run with it, each is collected once.
common.host { every = "5s", store }
common.processes { every = "5s", store }
common.self { every = "30s", store }
