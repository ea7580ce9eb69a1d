-- Code regions of a program as spans: count, duration and cost of each.
--   atalaya run pipelines/regions.lua        (as root, or, from Linux 6.6 on, with the drop-in uprobe)
--   atalaya bottleneck --job nightly
-- Replace the functions with those of your program; `nm -C --defined-only PROGRAM` lists them. The source waits for a missing binary.
-- Each call costs the program microseconds: name functions with at most a few thousand calls per second
-- (plugins/sources/uprobe/README.md).
local a = require "atalaya"
local common = require "atalaya.common"

local app = "/usr/local/bin/app"
local store = a.sink.sqlite {}

a.pipeline "regions" {
  every = "5s",
  a.source.uprobe {
    job = "nightly",
    regions = {
      { name = "parse", binary = app, enter = "parse_file" },
      { name = "sort", binary = app, enter = "sort_records" },
      { name = "write", binary = app, enter = "write_file", bytes = "return" },
    },
  },
  store,
}

-- The host at the same time.
-- As in host.lua: in one run with it, each is collected once.
common.host { every = "5s", store }
common.processes { every = "5s", store }
