// SPDX-License-Identifier: Apache-2.0
// Declarations of the metrics that tests use, as the sources declare them.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>

#include "plugins/shared/store/catalogue.h"

namespace atalaya::query::test {

inline store::Catalogue usual_metrics() {
  using store::Kind;
  store::Catalogue all;
  const auto add = [&](Kind kind, const char *unit, std::initializer_list<const char *> names) {
    for (const char *name : names) all[name] = std::make_shared<const store::MetricInfo>(store::MetricInfo{kind, -1, unit, ""});
  };
  add(Kind::gauge, "%",
      {"proc.cpu.user", "proc.cpu.kernel", "proc.cpu.delay", "sys.cpu.usage", "sys.cpu.user", "sys.cpu.idle", "sys.cpu.steal",
       "sys.pressure.cpu.some.stall", "sys.pressure.io.some.stall", "sys.counters.running", "sys.counters.stalled.backend",
       "sys.counters.branches.misses.share", "jvm.profile.cost", "jvm.profile.cpu"});
  add(Kind::gauge, "MiBy", {"proc.mem.resident", "sys.mem.free", "sys.mem.total", "sys.swap.total"});
  add(Kind::gauge, "1",
      {"sys.load.1m", "sys.tasks.total", "sys.tasks.running", "sys.disk.queue", "sys.counters.ipc", "proc.counters.ipc",
       "sys.counters.cache.mpki", "sys.counters.dtlb.mpki", "span.outcome", "span.spills", "self.files"});
  add(Kind::gauge, "ms", {"sys.disk.write.await", "flow.rtt", "span.gc.time", "sys.clock.offset"});
  add(Kind::gauge, "Cel", {"sys.cpu.temp"});
  add(Kind::gauge, "MHz", {"sys.cpu.mhz"});
  add(Kind::gauge, "By", {"jvm.heap.used", "span.bytes", "span.bytes.remote"});
  add(Kind::rate, "MiBy/s", {"sys.disk.write.mb", "sys.disk.read.mb", "proc.disk.writes.mb", "proc.disk.reads.mb"});
  add(Kind::rate, "Mibit/s", {"sys.net.in.mb", "sys.net.out.mb", "proc.net.tcp.out.mb"});
  add(Kind::rate, "By/s", {"sys.swap.in.bytes", "sys.mem.pgout.bytes"});
  add(Kind::rate, "ms/s", {"sys.disk.write.time", "cgroup.cpu.throttled.time"});
  add(Kind::rate, "/s",
      {"sys.net.in.packets", "sys.net.out.packets", "sys.interrupts", "sys.disk.write.merges", "proc.net.tcp.retransmits",
       "sys.counters.cache.misses", "sys.counters.instructions", "sys.counters.switches", "sys.counters.branches.misses",
       "jvm.profile.rate"});
  add(Kind::rate, "s/s", {"jvm.function.self"});
  add(Kind::delta, "By", {"flow.in.bytes", "flow.out.bytes", "flow.sent.bytes"});
  add(Kind::delta, "1", {"proc.exits", "region.calls", "region.short", "region.dropped"});
  add(Kind::total, "1", {"self.samples.in", "jvm.gc.count"});
  return all;
}

}  // namespace atalaya::query::test
