local a = require "atalaya"

local out = a.sink.stdout {}
a.pipeline "hosts" {
  every = "5s",
  a.source.proc {},
  out,
  out,
}
