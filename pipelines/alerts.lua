-- Alerts about this host: rules over its disks, memory, CPUs, JVMs, services, kernel events and the agent itself.
--   atalaya run pipelines/alerts.lua        (as root; without root, some rules have no data)
--   atalaya serve                           (view Alerts of the page)
-- The store is atalaya.db in the state folder. The rules, Alertmanager and webhooks: docs/how-to/alerts.md.
local a = require "atalaya"
local common = require "atalaya.common"

local store = a.sink.sqlite {}

local of_host = {
  -- Disks
  { name = "disk full in 4 h", metric = "sys.fs.available", use = "forecast", over = "30m", ahead = "4h", below = 0, lasts = "10m",
    severity = "critical", summary = "At its present rate, the file system is full within 4 hours",
    advice = "Find the writer with atalaya report --metric proc.disk.writes.mb, and delete or move data" },
  { name = "disk almost full", metric = "sys.fs.usage", above = 95, clear = 93, lasts = "5m", severity = "critical",
    summary = "The file system is more than 95 % full", advice = "Delete or move data, or enlarge the file system" },
  { name = "inodes almost used up", metric = "sys.fs.inodes.free", per = "sys.fs.inodes.total", below = 5, clear = 7, lasts = "5m",
    summary = "Less than 5 % of the inodes are free", advice = "Delete small files, such as old sessions and caches" },
  { name = "waiting for disks", metric = "sys.pressure.io.some.stall", above = 40, clear = 25, lasts = "5m", keep = "5m",
    summary = "Tasks wait for I/O for more than 40 % of the time", advice = "Run atalaya explain --from -10m: it names the process or the slow disk" },

  -- Memory
  { name = "memory pressure", metric = "sys.pressure.memory.some.stall", above = 10, clear = 5, lasts = "1m", keep = "5m",
    severity = "critical", summary = "Tasks wait for memory for more than 10 % of the time",
    advice = "Run atalaya explain --from -10m, and end or limit the process that grows" },
  { name = "memory almost used up", metric = "sys.mem.available", per = "sys.mem.total", below = 5, clear = 8, lasts = "1m",
    severity = "critical", summary = "Less than 5 % of the memory is available",
    advice = "Find large processes with atalaya report --metric proc.mem.resident" },

  -- CPUs and the clock
  { name = "waiting for CPUs", metric = "sys.pressure.cpu.some.stall", above = 80, clear = 60, lasts = "15m", keep = "5m",
    summary = "Tasks wait for a CPU for more than 80 % of the time", advice = "Move work to other hosts, or add cores" },
  { name = "cgroup throttled", metric = "cgroup.cpu.throttled.time", above = 200, clear = 100, lasts = "5m", keep = "5m",
    summary = "The CPU limit of the control group stops it for more than 200 ms per second",
    advice = "Raise the limit (CPUQuota, limits.cpu), or give the group less work" },
  { name = "clock not synchronized", metric = "sys.clock.synced", below = 1, lasts = "30m", severity = "info",
    summary = "The clock is not synchronized", advice = "Check chronyd or systemd-timesyncd: timedatectl status" },

  -- On a hub, with the samples of at least 3 hosts
  { name = "slower disks than its peers", metric = "sys.disk.write.await", use = "peers", above = 4, clear = 3, by = { "host" },
    combine = "mean", lasts = "15m", summary = "Writes take 4 times as long as on the median host",
    advice = "Compare the hosts with atalaya explain --tag host=A --against host=B" },
}

local of_kernel = {
  { name = "OOM kill", metric = "kernel.oom.kills", use = "sum", over = "10m", above = 0, severity = "critical",
    summary = "The kernel ended the process because memory ran out",
    advice = "Raise the limit of the cgroup, or find the growth with atalaya plot --metric proc.mem.resident --top 5" },
  { name = "crash", metric = "kernel.crashes", use = "sum", over = "10m", above = 0,
    summary = "A program crashed", advice = "Find its dump with coredumpctl, and the code in the tag file of the event" },
  { name = "read-only file system", metric = "kernel.fs.readonly", above = 0, severity = "critical",
    summary = "The file system could be written and is read-only now",
    advice = "Read the kernel's log (dmesg): after an error, check the disk before mounting it again" },
}

local of_jvms = {
  { name = "garbage collection", metric = "jvm.gc.time", above = 10, clear = 6, lasts = "5m", keep = "5m",
    summary = "The JVM collects garbage for more than 10 % of the time",
    advice = "Raise the heap (-Xmx), or find the allocations with atalaya jvms" },
}

local of_services = {
  { name = "service restarts", metric = "proc.exits", use = "sum", over = "10m", above = 4, by = { "host", "process" },
    tags = { parent = "systemd", process = "!(sd*" }, summary = "A process of systemd ended more than 4 times in 10 minutes",
    advice = "Read the log of its unit: journalctl -u UNIT" },
}

local of_agent = {
  -- Samples that a filter removes are no loss.
  { name = "agent drops samples", metric = "self.drops", use = "rate", over = "5m", above = 0, keep = "10m",
    tags = { reason = "!filtered" }, summary = "A component of the agent drops samples", advice = "Run atalaya status: it has the reason" },
  -- In samples per second: those in memory and in a spool.
  { name = "queue grows", metric = "self.queue.samples", use = "rate", over = "30m", above = 0.5, lasts = "10m",
    summary = "The queue of a sink grew for half an hour", advice = "Check the server of the sink; atalaya status has its last error" },
}

-- As in host.lua and jvm.lua: in one run with these, each is collected once.
common.host { every = "5s", store }
common.processes { every = "5s", store }
common.self { every = "30s", store }

a.pipeline "jvm" {
  every = "20s",
  a.source.jvm { budget = 2, flags = false },
  a.translate.names {},
  store,
}

a.pipeline "kernel" {
  every = "10s",
  a.source.kernel {},
  a.translate.names {},
  store,
}

-- Processes that ended, idle ones too, which the pipeline "processes" removes: for rules only, not for the store.
a.pipeline "ended" {
  every = "10s",
  a.source.proc { host = false, cgroups = false, unattributed = false, tags = { "parent" } },
  a.translate.names {},
}

-- The alerts of each, without its samples: these are in the store already.
a.pipeline "host-alerts" { a.from "host", a.translate.alerts { rules = of_host, samples = false }, store }
a.pipeline "kernel-alerts" { a.from "kernel", a.translate.alerts { rules = of_kernel, samples = false }, store }
a.pipeline "jvm-alerts" { a.from "jvm", a.translate.alerts { rules = of_jvms, samples = false }, store }
a.pipeline "service-alerts" { a.from "ended", a.translate.alerts { rules = of_services, samples = false }, store }
a.pipeline "agent-alerts" { a.from "self", a.translate.alerts { rules = of_agent, samples = false }, store }

-- Send the alerts to an Alertmanager; for a webhook, format = "webhook". Write one such pipeline for each one above.
-- a.pipeline "notify" {
--   a.from "host-alerts",
--   a.sink.http { url = "http://127.0.0.1:9093", format = "alertmanager" },
-- }
