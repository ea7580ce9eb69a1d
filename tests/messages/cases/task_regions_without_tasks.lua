local a = require "atalaya"
a.pipeline "tasks" {
  every = "10s",
  a.source.perf { task_regions = { { name = "query", binary = "/usr/bin/app", enter = "run_query" } } },
  a.sink.stdout {},
}
