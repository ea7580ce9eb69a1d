-- The pipelines of the service: every process of this host with its real name, and the host itself, into the embedded store.
--   atalaya check /etc/atalaya/atalaya.lua     prints its mistakes, or its graph
--   systemctl reload atalaya                   if the file has a mistake, the old pipelines continue
-- The language: /usr/share/doc/atalaya/reference/pipelines.md. More pipelines: /usr/share/atalaya/pipelines.
local a = require "atalaya"

-- /var/lib/atalaya/atalaya.db, at most one week and 4 GiB; the default store of all commands.
local store = a.sink.sqlite {}

a.pipeline "host" {
  every = "5s",
  a.source.proc { processes = false },
  store,
}

a.pipeline "processes" {
  every = "5s",
  -- Those that do not run have one sample per minute, unless they are large.
  a.source.proc { host = false, cgroups = false, rest = "1m", rest_below = "10 MiB" },
  -- java becomes NodeManager, executor or kafka; python3 becomes the script. Containers, units and jobs are tags.
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
  store,
  -- To a hub or a database as well, with a spool for times when it is unreachable:
  --   a.sink.http { url = "http://hub:4242", format = "flat", compress = "zstd", spool = { dir = "spool/hub", max = "1 GiB" } },
  -- With a token that only the service manager reads: `systemctl edit atalaya`, [Service], LoadCredential=token:/etc/atalaya/token; here
  --   bearer = "/run/credentials/atalaya.service/token",
}

a.pipeline "self" {
  every = "30s",
  a.source.self {},
  store,
}
