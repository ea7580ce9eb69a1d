-- What the containers and units of this host use: processes summed by both, and what the kernel counts for each cgroup.
--   atalaya run pipelines/containers.lua
-- The store is atalaya.db in the state folder; what each container uses now goes to containers.jsonl beside it.
local a = require "atalaya"

local store = a.sink.sqlite {}

-- In the store each process counts once, in the sample of its container and unit: sums over containers, or over units, are true.
-- (Memory that processes share counts with each of them; cgroup.mem.* has it once. Open files are counted in turns, so that their
-- sum would be of some processes only.)
local summed = { "*", "!*.state", "!*.start.time", "!*.pid", "!proc.files.open" }
a.pipeline "units" {
  every = "5s",
  a.source.proc { host = false, cgroups = false, kernel_threads = false, tags = { "container", "unit" } },
  function(s) if s.tags.container or s.tags.unit then return s end end,
  a.translate.aggregate { by = { "container", "unit" }, fields = summed, count = "proc.count" },
  store,
}

-- The same by container alone, for people and dashboards that follow a file.
a.pipeline "containers" {
  a.from "units",
  a.filter.match { container = "*" },
  a.translate.aggregate { by = "container" },
  a.sink.file { path = a.state_folder .. "/containers.jsonl", rotate_size = "64 MiB", keep = 3 },
}

a.pipeline "cgroups" {
  every = "5s",
  a.source.proc { processes = false, host = false },
  store,
}

local function process(pid, container, unit, cpu)
  return { tags = { pid = pid, process = "p", container = container, unit = unit }, fields = { ["proc.cpu.user"] = cpu } }
end

a.test "processes are summed by container and unit, those in neither are left out" {
  pipeline = "units",
  input = {
    process("1", "web", "docker-1.scope", 2.0),
    process("2", "web", "docker-1.scope", 3.5),
    process("3", nil, "ssh.service", 1.0),
    process("4", nil, nil, 9.0),
  },
  expect = {
    { tags = { container = "web", unit = "docker-1.scope" }, fields = { ["proc.cpu.user"] = 5.5, ["proc.count"] = 2 } },
    { tags = { unit = "ssh.service" }, fields = { ["proc.cpu.user"] = 1.0, ["proc.count"] = 1 } },
  },
}

a.test "a container is the sum of its units" {
  pipeline = "containers",
  input = {
    { tags = { container = "box", unit = "a.service" }, fields = { ["proc.cpu.user"] = 2.0, ["proc.count"] = 2 } },
    { tags = { container = "box", unit = "b.service" }, fields = { ["proc.cpu.user"] = 1.0, ["proc.count"] = 1 } },
    { tags = { unit = "ssh.service" }, fields = { ["proc.cpu.user"] = 1.0, ["proc.count"] = 1 } },
  },
  expect = { { tags = { container = "box" }, fields = { ["proc.cpu.user"] = 3.0, ["proc.count"] = 3 } } },
}
