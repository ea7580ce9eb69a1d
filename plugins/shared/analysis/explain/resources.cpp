// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/explain/resources.h"

namespace atalaya::explain {

std::vector<Resource> resources(std::string_view by) {
  using C = Capacity;
  const std::vector<std::string> own = by == "host"  ? std::vector<std::string>{}
                                       : by == "pid" ? std::vector<std::string>{"process", "pid"}
                                                     : std::vector{std::string(by)};
  const std::vector<std::string> started = by == "process" ? std::vector<std::string>{"process", "parent"} : own;
  std::vector<Resource> all;
  const auto add = [&](Resource resource, std::string_view witness = {}) {
    resource.witness = witness;
    all.push_back(std::move(resource));
  };
  // In descending order of rank: the most specific resource first.
  add({"forks", "processes started and ended", "per second", {"proc.exits"}, 1, started, Role::cause, C::forks, 1, 0.02, 9},
      "proc.cpu.user");
  add({"throttled",
       "CPU time denied by cgroup limits",
       "s/s",
       {"cgroup.cpu.throttled.time"},
       1e-3,
       {"cgroup"},
       Role::cause,
       C::one,
       1,
       0.05,
       8},
      "cgroup.cpu.usage");
  add({"gc", "garbage collection", "% of time", {"jvm.gc.time"}, 1, own, Role::cause, C::one, 100, 0.02, 7}, "jvm.count");
  add({"disk.read", "disk reads", "MiB/s", {"proc.disk.reads.mb"}, 1, own, Role::cause, C::disk, 1, 0.01, 5});
  add({"disk.write", "disk writes", "MiB/s", {"proc.disk.writes.mb"}, 1, own, Role::cause, C::disk, 1, 0.01, 5});
  add({"network",
       "network traffic of processes",
       "Mibit/s",
       {"proc.net.tcp.in.mb", "proc.net.tcp.out.mb", "proc.net.udp.in.mb", "proc.net.udp.out.mb"},
       1,
       own,
       Role::cause,
       C::network,
       1,
       0.01,
       4},
      "proc.net.lost");
  add({"memory", "memory of processes", "MiB", {"proc.mem.resident"}, 1, own, Role::cause, C::memory, 1, 0.01, 3});
  add({"switches",
       "voluntary context switches",
       "per second",
       {"proc.switches.voluntary"},
       1,
       own,
       Role::cause,
       C::switches,
       1,
       0.05,
       2});
  add({"cpu", "CPU", "cores", {"proc.cpu.user", "proc.cpu.kernel"}, 0.01, own, Role::cause, C::cores, 1, 0.02, 1});
  add({"energy", "energy of processes", "W", {"proc.cpu.energy"}, 1, own, Role::effect, C::one, 100, 0.01});
  add({"waiting.cpu", "waiting for a CPU", "s/s", {"proc.cpu.delay"}, 0.01, own, Role::effect, C::cores, 1, 0.05});
  add({"faults", "page faults that read from disk", "per second", {"proc.faults.major"}, 1, own, Role::effect, C::one, 1000, 0.02});
  add({"waiting.disk",
       "time of disk requests",
       "s/s",
       {"sys.disk.read.time", "sys.disk.write.time"},
       1e-3,
       {"disk"},
       Role::effect,
       C::one,
       1,
       0.05});
  add({"disk.ios",
       "disk requests",
       "per second",
       {"sys.disk.read.ios", "sys.disk.write.ios"},
       1,
       {"disk"},
       Role::effect,
       C::one,
       1000,
       0.02});
  add({"retransmits", "TCP retransmissions", "per second", {"proc.net.tcp.retransmits"}, 1, own, Role::effect, C::one, 100, 0.02},
      "proc.net.lost");
  add({"pressure.cpu", "CPU pressure", "% of time", {"sys.pressure.cpu.some.stall"}, 1, {}, Role::effect, C::one, 100, 0.05});
  add({"pressure.memory",
       "memory pressure",
       "% of time",
       {"sys.pressure.memory.some.stall"},
       1,
       {},
       Role::effect,
       C::one,
       100,
       0.02});
  add({"pressure.io", "I/O pressure", "% of time", {"sys.pressure.io.some.stall"}, 1, {}, Role::effect, C::one, 100, 0.05});
  add({"swap",
       "swapping",
       "MiB/s",
       {"sys.swap.in.bytes", "sys.swap.out.bytes"},
       1.0 / (1 << 20),
       {},
       Role::effect,
       C::one,
       100,
       0.01});
  return all;
}

}  // namespace atalaya::explain
