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
  a.source.proc { host = false, cgroups = false, kernel_threads = false },
  -- Containers by their names, of live processes and, by their cgroups, of those that ended. Programs need none here.
  a.translate.names { rules = {}, tags = { "container", "unit" } },
  function(s)
    if not (s.tags.container or s.tags.unit) then return nil end
    s.fields["proc.count"] = s.tags.pid and 1 or 0  -- live ones; proc.exits has the others
    return s
  end,
  a.translate.aggregate { by = { "container", "unit" }, fields = summed },
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

local function live(pid, container, unit, cpu)
  return { tags = { pid = pid, process = "p", container = container, unit = unit }, fields = { ["proc.cpu.user"] = cpu } }
end
local function ended(container, unit, cpu, exits)
  return {
    tags = { process = "true", parent = "sh", cgroup = "/system.slice/" .. unit, container = container, unit = unit },
    fields = { ["proc.cpu.user"] = cpu, ["proc.exits"] = exits },
  }
end

a.test "processes, those that ended too, are summed by container and unit; those in neither are left out" {
  pipeline = "units",
  input = {
    live("1", "web", "docker-1.scope", 2.0),
    live("2", "web", "docker-1.scope", 3.5),
    ended("web", "docker-1.scope", 0.25, 40),
    live("3", nil, "ssh.service", 1.0),
    live("4", nil, nil, 9.0),
  },
  expect = {
    {
      tags = { container = "web", unit = "docker-1.scope" },
      fields = { ["proc.cpu.user"] = 5.75, ["proc.count"] = 2, ["proc.exits"] = 40 },
    },
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
