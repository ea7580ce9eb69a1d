local a = require "atalaya"

a.pipeline "buffer" {
  every = "1s",
  a.source.proc {},
  a.translate.phases { buffer = 20, least = 10 },
  a.sink.stdout {},
}
