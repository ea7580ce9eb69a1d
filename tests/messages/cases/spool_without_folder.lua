local a = require "atalaya"
a.pipeline "hosts" {
  every = "5s",
  a.source.proc {},
  a.sink.stdout { spool = { max = "1 KiB", syn = "1s" } },
  a.sink.stdout { spool = { dir = "" } },
  a.sink.stdout { spool = { dir = "/var/lib/atalaya/x" } },
  a.sink.stdout { spool = { dir = "/var/lib/atalaya//x" } },
}
