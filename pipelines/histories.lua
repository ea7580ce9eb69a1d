-- Jobs of Hadoop and Spark from their histories: job, stages, tasks and phases as spans in the store, every counter as a field.
--   atalaya run pipelines/histories.lua
-- Run it on one host. mapred-site.xml and spark-defaults.conf there name the folder of the histories, local or in HDFS; the agent's
-- user needs read access (group hadoop or spark). The source follows running jobs.
local a = require "atalaya"

a.pipeline "histories" {
  a.source.hadoop {
    path = "auto",  -- or "/var/log/spark", "webhdfs://namenode:9870/tmp/hadoop-yarn/staging/history/done"
    max_age = "30d",
    -- Distance of a task's data, if the history lacks it: racks = { n1 = "/dc1/r1", n2 = "/dc1/r2" },
    -- Hosts with different names in histories and in agents: hosts = { ["10.0.0.1"] = "n1" },
  },
  a.sink.sqlite {},
}

a.test "a span keeps the host that its task ran on" {
  pipeline = "histories",
  input = { { kind = "span", text = "task", tags = { host = "n7", job = "job_1_2" }, fields = { ["span.bytes"] = 5 } } },
  expect = { { kind = "span", text = "task", tags = { host = "n7", job = "job_1_2" }, fields = { ["span.bytes"] = 5 } } },
}
