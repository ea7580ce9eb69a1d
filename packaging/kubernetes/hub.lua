-- The hub of a Kubernetes cluster: stores the samples of the agents of all nodes.
-- It acknowledges them when they are on disk.
local a = require "atalaya"

a.pipeline "hub" {
  a.source.receive { listen = "*:4242", tokens = "/etc/atalaya-secret/token", metrics_every = "1m" },
  a.sink.sqlite { retain = "30d", max_size = "40 GiB", sync = "full" },
}
