local a = require "atalaya"
local secret = os.getenv "ATALAYA_NOT_SET"
local http = a.sink.http
local fast

a.pipeline "hosts" {
  every = "5s",
  a.source.proc {}, -- { limit = nil }
  a.filter.value { ["proc.cpu.user"] = fast },
  a.translate.aggregate { by = { "host", os.getenv("ATALAYA_NOT_SET") } },
  a.sink.http { url = os.getenv("ATALAYA_NOT_SET"), bearer = secret, spool = { dir = os.getenv("ATALAYA_NOT_SET") } },
  http {
    url = os.getenv("ATALAYA_NOT_SET") or "http://127.0.0.1:4242/api/put",
    timeout = (function()
      local unused = nil
      return os.getenv("PATH") and "7s"
    end)(),
    deadline = nil,
  },
}
