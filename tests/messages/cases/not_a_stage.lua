local a = require "atalaya"

a.pipeline "hosts" {
  every = "5s",
  a.source.proc {},
  { "proc.cpu.user" },
  "stdout",
  42,
  true,
  a.sink.stdout {},
}
