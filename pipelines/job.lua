-- All layers of the jobs on this host, for `atalaya bottleneck`: phases from logs and histories, and metrics of the host, its
-- processes, JVMs, CPUs and power at the same time.
--   atalaya run pipelines/job.lua        (as root, or with the drop-ins that `atalaya doctor --unit` names)
--   atalaya bottleneck --job all
-- The store is atalaya.db in the state folder. On a cluster each node runs this with the sink of pipelines/agent.lua, and `bottleneck`
-- reads the store of the hub; the pipeline "histories" runs on one node only. The agent reports a missing feature (a PMU, a meter, a
-- history) once and continues.
local a = require "atalaya"
local common = require "atalaya.common"

local store = a.sink.sqlite {}

-- Phases can be seconds long, so windows are one second.
common.host { every = "1s", store }
common.processes { every = "1s", store }

common.jvm { every = "5s", store }

a.pipeline "counters" {
  every = "1s",
  a.source.counters {},
  store,
}

a.pipeline "power" {
  every = "5s",
  a.source.power {},
  store,
}

-- Phase lines (docs/how-to/phase-lines.md), for example from the scripts in examples/btrace.
a.pipeline "phases" {
  a.source.btrace { path = "/var/log/btrace/*.btrace" },
  store,
}

-- mapred-site.xml and spark-defaults.conf of this host name the folder of the histories. A folder on HDFS belongs to the whole
-- cluster: remove this pipeline on the other nodes, otherwise each of them sends all histories.
a.pipeline "histories" {
  a.source.hadoop { path = "auto", max_age = "30d" },
  store,
}

a.pipeline "inventory" {
  every = "10m",
  a.source.inventory {},
  store,
}
