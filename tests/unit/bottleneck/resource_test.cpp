// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>

#include "plugins/shared/analysis/bottleneck/resource.h"
#include "tests/unit/query/usual_metrics.h"

namespace atalaya::bottleneck {
namespace {

TEST_CASE("a host's value is the mean of its cores' where it is a ratio, and the sum where it is an amount") {
  const struct {
    const char *metric;
    Combine combine;
  } cases[] = {{"sys.counters.ipc", Combine::mean},
               {"proc.counters.ipc", Combine::mean},
               {"sys.counters.cache.mpki", Combine::mean},
               {"sys.counters.dtlb.mpki", Combine::mean},
               {"sys.counters.branches.misses.share", Combine::mean},
               {"sys.counters.stalled.backend", Combine::mean},
               {"sys.counters.running", Combine::mean},
               {"sys.counters.cache.misses", Combine::sum},
               {"sys.counters.instructions", Combine::sum},
               {"sys.counters.switches", Combine::sum},
               {"sys.cpu.user", Combine::mean},  // of one core at most 100
               {"proc.cpu.user", Combine::sum},  // of each process in the same cores
               {"sys.cpu.temp", Combine::mean},
               {"sys.cpu.mhz", Combine::mean},
               {"sys.disk.write.mb", Combine::sum},
               {"sys.disk.write.await", Combine::mean},
               {"sys.disk.queue", Combine::sum},
               {"sys.net.in.packets", Combine::sum},
               {"sys.mem.free", Combine::sum},
               {"sys.pressure.io.some.stall", Combine::mean},
               {"proc.exits", Combine::sum},
               {"jvm.gc.count", Combine::leave_out},  // only goes up
               {"self.files", Combine::leave_out},
               {"btrace.server.net.in.bytes", Combine::leave_out},
               {"btrace.pool.mem.used", Combine::leave_out},
               {"sys.clock.offset", Combine::leave_out},
               {"unknown.thing", Combine::mean}};
  const store::Catalogue usual = query::test::usual_metrics();
  for (const auto &one : cases) {
    CAPTURE(one.metric);
    const auto info = usual.find(one.metric);
    CHECK(combine_of(one.metric, info == usual.end() ? nullptr : info->second.get()) == one.combine);
  }
}

TEST_CASE("kinds and units of made-up metrics decide, not their names") {
  const auto combine = [](store::Kind kind, const char *unit) {
    const store::MetricInfo info{kind, -1, unit, ""};
    return combine_of("made.up.bytes", &info);
  };
  CHECK(combine(store::Kind::total, "By") == Combine::leave_out);
  CHECK(combine(store::Kind::delta, "By") == Combine::sum);
  CHECK(combine(store::Kind::rate, "By/s") == Combine::sum);
  CHECK(combine(store::Kind::gauge, "MiBy") == Combine::sum);
  CHECK(combine(store::Kind::gauge, "%") == Combine::mean);
  CHECK(combine(store::Kind::unknown, "By") == Combine::mean);
  CHECK(combine_of("made.up.bytes", nullptr) == Combine::mean);
}

}  // namespace
}  // namespace atalaya::bottleneck
