local a = require "atalaya"

a.pipeline "hosts" {
  every = "5",
  a.source.prco {},
  a.fitler.value {},
  a.filter.top { k = 0 },
  a.sink.sqlit {},
}

a.pipeline "other" {
  every = "5s",
  a.source.proc {},
}
