-- A hub: takes what the agents of other hosts send and keeps it in the store here.
--   atalaya run pipelines/hub.lua
-- It listens on all addresses, so senders have to show a token (or open = true, for senders that cannot): put one a line into the file (chmod 600) before the start.
--   (umask 077; head -c 24 /dev/urandom | base64 > tokens)
-- A sender is told that its points are stored when they are on the disk; one that is not told keeps them and sends them again.
-- OpenTSDB's collectors send to http://HUB:4242/api/put, BDWatchdog's profiles to http://HUB:4242/cpu, JSON lines go to
-- http://HUB:4242/api/jsonlines, agents (format = "flat") send to http://HUB:4242/api/flat. With a certificate and its key the hub speaks HTTPS only.
local a = require "atalaya"

a.pipeline "hub" {
  a.source.receive {
    listen = "*:4242",
    tokens = a.state_folder .. "/tokens",
    -- certificate = "/etc/atalaya/hub.pem", key = "/etc/atalaya/hub.key",
  },
  -- To keep a year of points a minute beside: rollup = { { after = "7d", every = "1m", retain = "365d" } }, with an `after` that is
  -- longer than any sender may be cut off.
  a.sink.sqlite { retain = "30d", max_size = "64 GiB", sync = "full" },
}

a.test "the host is the sender's" {
  pipeline = "hub",
  input = { { tags = { host = "node7", pid = "1", process = "init" }, fields = { ["proc.cpu.user"] = 1.5 } } },
  expect = { { tags = { host = "node7", pid = "1", process = "init" }, fields = { ["proc.cpu.user"] = 1.5 } } },
}
