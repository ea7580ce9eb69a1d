-- A hub: receives samples from the agents of other hosts and stores them.
--   atalaya run pipelines/hub.lua
-- It listens on all addresses, so senders need a token (open = true permits senders without one). Write one token per line into
-- the file (chmod 600) before the start:
--   (umask 077; head -c 24 /dev/urandom | base64 > tokens)
-- The hub acknowledges points when they are on disk; a sender without an acknowledgement keeps them and sends them again.
-- OpenTSDB's collectors send to http://HUB:4242/api/put, BDWatchdog's profiles to http://HUB:4242/cpu, agents
-- (format = "flat") to http://HUB:4242/api/flat, JSON lines to http://HUB:4242/api/jsonlines. With a certificate and its key the hub accepts HTTPS only.
local a = require "atalaya"

a.pipeline "hub" {
  a.source.receive {
    listen = "*:4242",
    tokens = a.state_folder .. "/tokens",
    metrics_every = "1m",  -- requests, refusals, bytes and new series of each sender: receive.*
    -- certificate = "/etc/atalaya/hub.pem", key = "/etc/atalaya/hub.key",
  },
  -- To keep one point per minute for a year: rollup = { { after = "7d", every = "1m", retain = "365d" } }, with an `after` that is
  -- longer than the longest interruption of a sender.
  a.sink.sqlite { retain = "30d", max_size = "64 GiB", sync = "full" },
}

a.test "the host is the sender's" {
  pipeline = "hub",
  input = { { tags = { host = "node7", pid = "1", process = "init" }, fields = { ["proc.cpu.user"] = 1.5 } } },
  expect = { { tags = { host = "node7", pid = "1", process = "init" }, fields = { ["proc.cpu.user"] = 1.5 } } },
}
