local a = require "atalaya"

a.pipeline "hosts" {
  every = "5s",
  a.source.proc {},
  a.call { function(s) return s end, on_error = "ignore" },
  a.sink.stdout {},
}
