local a = require "atalaya"

a.pipeline "hosts" {
  every = 5,
  a.source.proc {},
  a.sink.stdout {},
}
