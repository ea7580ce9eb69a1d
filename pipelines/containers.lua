-- Usage of the containers and units of this host: sums of their processes, and the kernel's counters of each cgroup.
--   atalaya run pipelines/containers.lua
--   atalaya report --by container
-- The store is atalaya.db in the state folder; containers.jsonl in the same folder has the current usage of each container.
local a = require "atalaya"
local common = require "atalaya.common"

local store = a.sink.sqlite {}

-- In the store each process counts once, with the tags of its container and unit; cgroups have the kernel's own counters.
common.host { every = "5s", store }
common.processes { every = "5s", store }

-- Sums for the file. They are not in the store, where they would count the usage of their processes again.
-- (Shared memory counts in each process; cgroup.mem.* counts it once. Each window counts the open files of some processes only,
-- so their sum is excluded.)
local summed = { "*", "!*.state", "!*.start.time", "!*.pid", "!proc.files.open" }
a.pipeline "units" {
  every = "5s",
  a.source.proc { host = false, cgroups = false, kernel_threads = false },
  -- Names of containers: for live processes, and from the cgroup for processes that ended. Names of programs are not needed.
  a.translate.names { rules = {}, tags = { "container", "unit" } },
  function(s)
    if not (s.tags.container or s.tags.unit) then return nil end
    s.fields["proc.count"] = s.fields["proc.exits"] and 0 or 1  -- live processes; proc.exits counts the others
    return s
  end,
  a.translate.aggregate { by = { "container", "unit" }, fields = summed },
}

-- The same by container only, for readers of a file.
a.pipeline "containers" {
  a.from "units",
  a.filter.match { container = "*" },
  a.translate.aggregate { by = "container" },
  a.sink.file { path = a.state_folder .. "/containers.jsonl", rotate_size = "64 MiB", keep = 3 },
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

a.test "live and ended processes are summed by container and unit; processes without both are removed" {
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
