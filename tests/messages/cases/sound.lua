local a = require "atalaya"

a.pipeline "hosts" {
  every = "5s",
  a.source.proc {},
  a.filter.value { ["proc.cpu.user"] = 0.5 },
  function(s) return s end,
  a.call { function(s) return s end, on_error = "pass" },
  a.sink.stdout { queue = "1 MiB" },
}

a.pipeline "copy" {
  a.from "hosts",
  a.sink.file { path = "/tmp/a.jsonl" },
}
