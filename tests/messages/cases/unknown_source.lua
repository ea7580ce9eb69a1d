local a = require "atalaya"

a.pipeline "hosts" {
  every = "5s",
  a.source.prco {},
  a.sink.stdout {},
}
