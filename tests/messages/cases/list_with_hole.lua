local a = require "atalaya"

a.pipeline "hosts" {
  every = "5s",
  a.source.proc {},
  a.translate.aggregate { by = { "host", nil, "process" } },
  a.sink.stdout {},
}
