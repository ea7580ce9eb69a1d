local a = require "atalaya"

a.pipeline "unclosed" {
  a.source.btrace { path = "x.log", rules = { { match = "START (%S+", emit = "begin", level = "task", captures = { "task" } } } },
  a.sink.stdout {},
}
a.pipeline "capture" {
  a.source.btrace { path = "x.log", rules = { { match = "took (%d+)", captures = { "app.latency" } } } },
  a.sink.stdout {},
}
a.pipeline "level" {
  a.source.btrace { path = "x.log", rules = { { match = "done", emit = "end" } } },
  a.sink.stdout {},
}
