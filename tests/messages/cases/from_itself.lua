local a = require "atalaya"

a.pipeline "hosts" {
  a.from "hosts",
  a.sink.stdout {},
}
