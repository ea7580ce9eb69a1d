-- This host and its busy processes to a topic of Apache Kafka, one message per sample. A spool on disk keeps unacknowledged samples.
--   atalaya run pipelines/kafka.lua
local a = require "atalaya"
local common = require "atalaya.common"

local kafka = a.sink.kafka {
  brokers = { "127.0.0.1:9092" },
  topic = "atalaya",
  spool = { dir = "spool/kafka", max = "1 GiB" },
}

common.host { every = "5s", kafka }
common.processes { every = "5s", kafka }
