-- Power of this host, its CPU packages and GPUs, and the energy of each process and container.
--   atalaya run pipelines/power.lua        (as root, or with the drop-ins power-rapl and energy-rapl; power-msr for registers)
--   atalaya query --metric proc.cpu.energy --group-by process
-- The store is atalaya.db in the state folder. A virtual machine has no meters: `meters` below enables estimates, with the
-- tag quality = model.
local a = require "atalaya"
local common = require "atalaya.common"

local store = a.sink.sqlite {}
local meters = {}  -- { model = { idle = 40, full = 180 } }: watts of this host with nothing to do, and with all cores busy

a.pipeline "power" {
  every = "5s",
  a.source.power(meters),
  store,
}

-- In joules, which can be summed over time, processes and containers.
a.pipeline "energy" {
  every = "5s",
  a.source.proc { host = false, cgroups = false },
  a.translate.energy(meters),  -- before any filter, so that each process gets its share
  -- Keeps the energy: the pipeline "processes" stores the other values.
  function(s)
    local has_energy = false
    for name in pairs(s.fields) do
      if name:find(".energy", 1, true) then has_energy = true else s.fields[name] = nil end
    end
    return has_energy and s or nil
  end,
  a.translate.names { tags = { "container", "unit", "job" } },
  -- Idle processes have one sample per 5 minutes: sums over the store are complete.
  a.filter.value { rest = "5m", ["proc.cpu.energy"] = 0.01 },
  store,
}

common.host { every = "5s", store }
common.processes { every = "5s", store }

local web = { pid = "1", process = "p", container = "web" }
local busy = { tags = web, fields = { ["proc.cpu.energy"] = 30.0 } }
local measured = { tags = web, fields = { ["proc.cpu.user"] = 90.0, ["proc.cpu.energy"] = 30.0 } }
local host = { tags = { host = "h" }, fields = { ["sys.energy.processes"] = 30.005 } }

a.test "only energy; a quiet process has its sample later, the sum of all at once" {
  pipeline = "energy",
  input = {
    measured,
    { tags = { pid = "3", process = "p" }, fields = { ["proc.mem.resident"] = 10.0 } },  -- in the first window
    { tags = { pid = "2", process = "p", container = "web" }, fields = { ["proc.cpu.user"] = 0.1, ["proc.cpu.energy"] = 0.005 } },
    host,
  },
  expect = { busy, host },
}
