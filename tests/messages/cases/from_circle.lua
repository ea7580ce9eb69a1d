local a = require "atalaya"

a.pipeline "first" {
  a.from "third",
}

a.pipeline "second" {
  a.from "first",
}

a.pipeline "third" {
  a.from "second",
  a.sink.stdout {},
}
