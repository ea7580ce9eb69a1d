-- The agent of a node of the small cluster. Nodes share a kernel: of its counts, each agent reports those of its own control group and
-- its own interface, under the names of a separate host.
local a = require "atalaya"

local hub = a.sink.http { url = "@HUB@", format = "flat" }
local MIB = 1024 * 1024

a.pipeline "host" {
  every = "@WINDOW@",
  a.source.proc { tags = { "cgroup" }, unattributed = false },
  function(s)
    local tags, fields = s.tags, s.fields
    if tags.interface == "eth0" then
      tags.host = "@NODE@"
      return s
    end
    if tags.cgroup ~= "@GROUP@" then return nil end
    tags.host = "@NODE@"
    local used = fields["cgroup.cpu.usage"]
    if used then
      fields["sys.cpu.usage"], fields["sys.cpu.user"], fields["sys.cpu.kernel"] = used, fields["cgroup.cpu.user"], fields["cgroup.cpu.kernel"]
    end
    local read, written = fields["cgroup.disk.read.bytes"], fields["cgroup.disk.write.bytes"]
    if read then fields["sys.disk.read.mb"], fields["sys.disk.read.ios"] = read / MIB, fields["cgroup.disk.read.ios"] end
    if written then fields["sys.disk.write.mb"], fields["sys.disk.write.ios"] = written / MIB, fields["cgroup.disk.write.ios"] end
    return s
  end,
  hub,
}

a.pipeline "job" {
  a.source.btrace { path = "@FOLDER@/phases.log" },
  function(s) s.tags.host = "@NODE@"; return s end,
  hub,
}
