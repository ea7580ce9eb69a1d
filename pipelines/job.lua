-- All five layers of the jobs that run on this host, for `atalaya bottleneck`: what a job's log and history tell of its phases, and what
-- the host, its JVMs, its CPUs and its power did meanwhile.
--   atalaya run pipelines/job.lua        (as root, or with the drop-ins that atalaya doctor --unit names)
--   atalaya bottleneck --job all
-- The store is atalaya.db in the state folder. On a cluster each node runs this with the sink of pipelines/agent.lua, and `bottleneck`
-- reads the hub's store; the pipeline "histories" belongs on one node only. What a host lacks (a PMU, a meter, a history) is said once, and the rest goes on.
local a = require "atalaya"

local store = a.sink.sqlite {}

-- Phases are seconds long: so are windows.
a.pipeline "host" {
  every = "1s",
  a.source.proc { processes = false },
  store,
}

a.pipeline "processes" {
  every = "1s",
  a.source.proc { host = false, cgroups = false },
  a.translate.names { tags = { "container" } },
  a.filter.value { ["proc.cpu.user"] = 1, ["proc.cpu.kernel"] = 1, ["proc.disk.reads.mb"] = 0.05, ["proc.disk.writes.mb"] = 0.05 },
  store,
}

a.pipeline "jvms" {
  every = "5s",
  a.source.jvm {},
  a.translate.names {},
  store,
}

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

-- The lines of docs/how-to/phase-lines.md, such as the scripts in examples/btrace print them.
a.pipeline "phases" {
  a.source.btrace { path = "/var/log/btrace/*.btrace" },
  store,
}

-- Where mapred-site.xml and spark-defaults.conf of this host say that histories are. Those on HDFS are the whole cluster's: on its other
-- nodes leave this pipeline out, or each of them reads and sends all of it.
a.pipeline "histories" {
  a.source.hadoop { path = "auto", max_age = "30d" },
  store,
}

a.pipeline "inventory" {
  every = "10m",
  a.source.inventory {},
  store,
}
