-- The agent of a Kubernetes node: sends the node, its processes and its pods to the hub.
-- Processes come from the node's pid namespace (hostPID); files of the node are below /host.
local a = require "atalaya"

local hub = a.sink.http {
  url = os.getenv "ATALAYA_HUB",
  format = "flat",
  compress = "zstd",
  spread = "3s",  -- nodes send at different moments
  bearer = "/etc/atalaya-secret/token",
  spool = { dir = "spool/hub", max = "1 GiB", sync = "1s" },
}

a.pipeline "host" {
  every = "5s",
  a.source.proc { processes = false, root = "/host" },
  hub,
}

a.pipeline "processes" {
  every = "5s",
  a.source.proc { host = false, cgroups = false, rest = "1m", rest_below = "10 MiB" },
  -- The tag pod needs the state files of the container runtime; the tag container is the id without them.
  a.translate.names { root = "/host", tags = { "container", "pod", "namespace", "workload" } },
  -- Idle processes, those below all of these limits, have one sample per 5 minutes: averages and sums stay the same.
  a.filter.value {
    rest = "5m",
    ["proc.cpu.user"] = 0.1,
    ["proc.cpu.kernel"] = 0.1,
    ["proc.disk.reads.mb"] = 0.01,
    ["proc.disk.writes.mb"] = 0.01,
    ["proc.mem.resident"] = 10,
  },
  hub,
}

a.pipeline "self" {
  every = "30s",
  a.source.self {},
  hub,
}
