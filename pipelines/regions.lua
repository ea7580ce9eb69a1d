-- Code regions of a program as spans: how often each ran, how long, and which of them cost most.
--   atalaya run pipelines/regions.lua        (as root, or, from Linux 6.6 on, with the drop-in uprobe)
--   atalaya bottleneck --job nightly
-- Put your own program's functions in place of these; `nm -C --defined-only PROGRAM` lists them. A binary that is not there is waited for.
-- Each run costs the program microseconds: name functions that run some thousand times a second at most (plugins/sources/uprobe/README.md).
local a = require "atalaya"

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

-- What the host does meanwhile.
a.pipeline "host" {
  every = "5s",
  a.source.proc { cgroups = false },
  a.translate.names {},
  a.filter.value { ["proc.cpu.user"] = 0.5, ["proc.cpu.kernel"] = 0.5, ["proc.disk.writes.mb"] = 0.05 },
  store,
}
