// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>

#include "plugins/shared/analysis/jobs/reasons/resource.h"
#include "tests/unit/store/query/usual_metrics.h"

namespace atalaya::bottleneck {
namespace {

TEST_CASE("a host's value is the mean of its cores' where it is a ratio, and the sum where it is an amount") {
  const struct {
    const char *metric;
    jobs::Combine combine;
  } cases[] = {{"sys.counters.ipc", jobs::Combine::mean},
               {"proc.counters.ipc", jobs::Combine::mean},
               {"sys.counters.cache.mpki", jobs::Combine::mean},
               {"sys.counters.dtlb.mpki", jobs::Combine::mean},
               {"sys.counters.branches.misses.share", jobs::Combine::mean},
               {"sys.counters.stalled.backend", jobs::Combine::mean},
               {"sys.counters.running", jobs::Combine::mean},
               {"sys.counters.cache.misses", jobs::Combine::sum},
               {"sys.counters.instructions", jobs::Combine::sum},
               {"sys.counters.switches", jobs::Combine::sum},
               {"sys.cpu.user", jobs::Combine::mean},  // of one core at most 100
               {"proc.cpu.user", jobs::Combine::sum},  // of each process in the same cores
               {"sys.cpu.temp", jobs::Combine::mean},
               {"sys.cpu.mhz", jobs::Combine::mean},
               {"sys.disk.write.mb", jobs::Combine::sum},
               {"sys.disk.write.await", jobs::Combine::mean},
               {"sys.disk.queue", jobs::Combine::sum},
               {"sys.net.in.packets", jobs::Combine::sum},
               {"sys.mem.free", jobs::Combine::sum},
               {"sys.pressure.io.some.stall", jobs::Combine::mean},
               {"proc.exits", jobs::Combine::sum},
               {"jvm.gc.count", jobs::Combine::omit},  // only goes up
               {"self.files", jobs::Combine::omit},
               {"btrace.server.net.in.bytes", jobs::Combine::omit},
               {"btrace.pool.mem.used", jobs::Combine::omit},
               {"sys.clock.offset", jobs::Combine::omit},
               {"unknown.thing", jobs::Combine::mean}};
  const store::Catalogue usual = query::test::usual_metrics();
  for (const auto &one : cases) {
    CAPTURE(one.metric);
    const auto info = usual.find(one.metric);
    CHECK(jobs::combine_of(one.metric, info == usual.end() ? nullptr : info->second.get()) == one.combine);
  }
}

TEST_CASE("kinds and units of made-up metrics decide, not their names") {
  const auto combine = [](store::Kind kind, const char *unit) {
    const store::MetricInfo info{kind, -1, unit, ""};
    return jobs::combine_of("made.up.bytes", &info);
  };
  CHECK(combine(store::Kind::total, "By") == jobs::Combine::omit);
  CHECK(combine(store::Kind::delta, "By") == jobs::Combine::sum);
  CHECK(combine(store::Kind::rate, "By/s") == jobs::Combine::sum);
  CHECK(combine(store::Kind::gauge, "MiBy") == jobs::Combine::sum);
  CHECK(combine(store::Kind::gauge, "%") == jobs::Combine::mean);
  CHECK(combine(store::Kind::unknown, "By") == jobs::Combine::mean);
  CHECK(jobs::combine_of("made.up.bytes", nullptr) == jobs::Combine::mean);
}

}  // namespace
}  // namespace atalaya::bottleneck
