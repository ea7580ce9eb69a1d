local a = require "atalaya"

a.pipeline {
  every = "5s",
  a.source.proc {},
  a.sink.stdout {},
}
