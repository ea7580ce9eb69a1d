-- A flight recorder: processes every 100 ms, the host every 500 ms, stacks and traffic every second stay in memory
-- for two minutes. They are written only around an alert, an OOM kill, a crash, or on request:
--   atalaya run pipelines/recorder.lua        (as root)
--   atalaya record --last 2m                  (on request)
-- Recordings are in recordings.db in the state folder, a store of its own, and each is a file for ui.perfetto.dev in the folder
-- recordings; alerts are in atalaya.db. docs/how-to/recorder.md
local a = require "atalaya"

local recordings = a.sink.sqlite {
  path = a.state_folder .. "/recordings.db",
  max_size = "2 GiB",
  traces = { folder = "recordings", files = 20, max_size = "1 GiB" },
}

local alerts = a.sink.sqlite {}
local recorders = a.sink.recorder {}

a.pipeline "fine" {
  every = "100ms",
  -- Processes that do not run have one sample per 2 s, and those below the limits one per second: the memory reaches back
  -- further, and averages stay the same. Time of no process is left out: /proc/stat counts it in ticks of 10 ms, too coarse
  -- for these windows.
  a.source.proc { host = false, cgroups = false, unattributed = false, rest = "2s" },
  a.filter.value {
    rest = "1s",
    ["proc.cpu.user"] = 0.1,
    ["proc.cpu.kernel"] = 0.1,
    ["proc.disk.reads.mb"] = 0.01,
    ["proc.disk.writes.mb"] = 0.01,
  },
  a.translate.names { recheck = 1 },
  -- A slow task, a value that you watch: a tag `record` starts a recording.
  -- function(s) if (s.fields["proc.mem.resident"] or 0) > 8000 then s.tags.record = "large" end; return s end,
  a.filter.recorder { size = "8 MiB" },
  recordings,
}

a.pipeline "fine-host" {
  every = "500ms",
  a.source.proc { processes = false, cgroups = false },
}
a.pipeline "recorded-host" { a.from "fine-host", a.filter.recorder { name = "host", size = "2 MiB" }, recordings }

a.pipeline "stacks" {
  every = "1s",
  a.source.perf { frequency = 19, symbol_memory = "8 MiB" },
  a.source.net {},
  a.translate.names {},
  a.filter.recorder { name = "stacks", size = "5 MiB" },
  recordings,
}

-- What starts a recording.
a.pipeline "pressure" {
  a.from "fine-host",
  a.translate.alerts { samples = false, rules = {
    { name = "memory pressure", metric = "sys.pressure.memory.some.stall", above = 20, clear = 5, lasts = "2s", keep = "1m",
      summary = "Tasks wait for memory for more than 20 % of the time", advice = "Open the newest file of the folder recordings at ui.perfetto.dev" },
    { name = "waiting for disks", metric = "sys.pressure.io.some.stall", above = 60, clear = 25, lasts = "10s", keep = "1m",
      summary = "Tasks wait for I/O for more than 60 % of the time", advice = "Open the newest file of the folder recordings at ui.perfetto.dev" },
  } },
  alerts,
  recorders,
}

a.pipeline "events" {
  every = "2s",
  a.source.kernel { throttled = false },
  -- Without the samples that say that no message of the kernel's log was lost.
  a.filter.value { absent = "pass", ["kernel.log.lost"] = 1 },
  alerts,
  recorders,
}
