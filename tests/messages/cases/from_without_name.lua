local a = require "atalaya"

a.pipeline "hosts" {
  a.from(5),
  a.sink.stdout {},
}
