local a = require "atalaya"

a.pipeline "hosts" {
  every = "5s",
  a.source.proc {},
  a.translate.tgas {},
  a.sink.stdout {},
}
