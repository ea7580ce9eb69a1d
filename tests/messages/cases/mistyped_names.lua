local a = require "atalaya"

a.pipeline "hosts" {
  every = "5s",
  a.source.proc {},
  a.filter.value { ["proc.cpu.usr"] = 1, ["proc.cpu.kernel"] = 1 },
  a.filter.match { proces = "java*", metric = { "proc.cpu.*", "net.*", "!sys.*", "~^x" } },
  a.filter.top { by = "proc.mem.residnt", per = { "hst" }, tag = "anything" },
  a.translate.aggregate { by = { "process", "contaner" }, functions = { ["proc.thread"] = "max" } },
  a.sink.stdout { sort = "nothing.like.it" },
}
