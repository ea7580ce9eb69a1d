local a = require "atalaya"

a.pipeline "hosts" {
  every = "5s",
  a.source.proc {},
  function(s)
    if s.tags.proces == "java" then return nil end
    s.tags.team = "data"
    s.fields["proc.cpu.all"] = (s.fields["proc.cpu.user"] or 0) + (s.fields["proc.cpu.kernl"] or 0)
    return s
  end,
  a.translate.tags { copy = { app = "team" }, rename = { process = "program" }, add = { site = "here" } },
  a.filter.value { ["proc.cpu.all"] = 1, ["proc.cpu.usr"] = 1, ["made.by.a.function"] = 3 },
  a.translate.aggregate { by = { "app", "program", "site", "anything" } },
  a.sink.stdout { sort = "proc.cpu.all" },
}

a.pipeline "received" {
  a.source.receive { listen = "127.0.0.1:0" },
  a.filter.value { ["any.name"] = 1 },
  a.sink.stdout {},
}

a.pipeline "taken" {
  a.from "hosts",
  a.filter.value { ["proc.mem.residnt"] = 1 },
  a.sink.stdout {},
}
