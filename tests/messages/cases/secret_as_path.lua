local a = require "atalaya"

a.pipeline "hosts" {
  every = "5s",
  a.source.proc {},
  a.sink.http { url = "http://127.0.0.1:4242/api/put", bearer = "" },
  a.sink.http { url = "http://127.0.0.1:4243/api/put", bearer = "c2VjcmV0/0oken" },
  a.sink.http { url = "http://127.0.0.1:4244/api/put", bearer = 123456 },
}
