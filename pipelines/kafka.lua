-- This host and its busy processes to a topic of Apache Kafka, one message per sample. A spool on disk keeps unacknowledged samples.
--   atalaya run pipelines/kafka.lua
local a = require "atalaya"

local kafka = a.sink.kafka {
  brokers = { "127.0.0.1:9092" },
  topic = "atalaya",
  spool = { dir = "spool/kafka", max = "1 GiB" },
}

a.pipeline "host" {
  every = "5s",
  a.source.proc { processes = false },
  kafka,
}

a.pipeline "processes" {
  every = "5s",
  a.source.proc { host = false, cgroups = false, rest = "1m", rest_below = "10 MiB" },
  a.translate.names { tags = { "container", "unit", "job" } },
  a.filter.value {
    rest = "5m",
    ["proc.cpu.user"] = 0.1,
    ["proc.cpu.kernel"] = 0.1,
    ["proc.disk.reads.mb"] = 0.01,
    ["proc.disk.writes.mb"] = 0.01,
    ["proc.mem.resident"] = 10,
  },
  kafka,
}
