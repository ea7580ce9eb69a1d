-- Jobs of Hadoop and Spark, from their histories, into the store: job, stages, tasks and phases as spans, every counter a field.
--   atalaya run pipelines/histories.lua
-- On one host: where mapred-site.xml and spark-defaults.conf say that histories are kept, local or in HDFS; the agent's user must be
-- allowed to read them (the group hadoop, or spark). Jobs that run are followed.
local a = require "atalaya"

a.pipeline "histories" {
  a.source.hadoop {
    path = "auto",  -- or "/var/log/spark", "webhdfs://namenode:9870/tmp/hadoop-yarn/staging/history/done"
    max_age = "30d",
    -- How far a task's data was, where the history does not say: racks = { n1 = "/dc1/r1", n2 = "/dc1/r2" },
    -- Hosts that histories call otherwise than the agents there do: hosts = { ["10.0.0.1"] = "n1" },
  },
  a.sink.sqlite { retain = "90d" },
}

a.test "a span keeps the host that its task ran on" {
  pipeline = "histories",
  input = { { kind = "span", text = "task", tags = { host = "n7", job = "job_1_2" }, fields = { ["span.bytes"] = 5 } } },
  expect = { { kind = "span", text = "task", tags = { host = "n7", job = "job_1_2" }, fields = { ["span.bytes"] = 5 } } },
}
