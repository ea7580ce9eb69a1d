local a = require "atalaya"

local t = {}
t.t = t
a.pipeline "hosts" {
  every = "5s",
  a.source.proc(t),
  a.sink.stdout {},
}
