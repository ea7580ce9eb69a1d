local a = require "atalaya"

a.pipeline "hosts" {
  a.source.proc {},
  a.sink.stdout {},
}
