-- What the service runs: every process of this host under its real name, and the host itself, into the embedded store.
--   atalaya check /etc/atalaya/atalaya.lua     what is wrong with it, or its graph
--   systemctl reload atalaya                   a bad file leaves the old one running
-- The language: /usr/share/doc/atalaya/pipelines.md. More pipelines: /usr/share/atalaya/pipelines.
local a = require "atalaya"

-- /var/lib/atalaya/atalaya.db, for a week and 4 GiB at most; the commands that read look there too.
local store = a.sink.sqlite {}

a.pipeline "host" {
  every = "5s",
  a.source.proc { processes = false },
  store,
}

a.pipeline "processes" {
  every = "5s",
  a.source.proc { host = false, cgroups = false },
  -- java becomes NodeManager, executor or kafka; python3 becomes the script. Containers and units are tags.
  a.translate.names { tags = { "container", "unit" } },
  -- Idle processes are left out: what uses less than this for a whole window.
  a.filter.value {
    ["proc.cpu.user"] = 0.1,
    ["proc.cpu.kernel"] = 0.1,
    ["proc.disk.reads.mb"] = 0.01,
    ["proc.disk.writes.mb"] = 0.01,
    ["proc.mem.resident"] = 10,
  },
  store,
  -- To a hub or a database as well; what it cannot take waits on disk:
  --   a.sink.http { url = "http://hub:4242", format = "flat", compress = "zstd", spool = { dir = "spool/hub", max = "1 GiB" } },
  -- With a token, which only the service manager reads: `systemctl edit atalaya`, [Service], LoadCredential=token:/etc/atalaya/token; here
  --   bearer = "/run/credentials/atalaya.service/token",
}

a.pipeline "self" {
  every = "30s",
  a.source.self {},
  store,
}
