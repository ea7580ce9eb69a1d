// SPDX-License-Identifier: Apache-2.0
// In steady state a stage allocates nothing, however many samples pass.
#include "plugins/filters/match/match_filter.h"
#include "plugins/filters/top/top_filter.h"
#include "plugins/filters/value/value_filter.h"
#include "plugins/translators/aggregate/aggregate.h"
#include "plugins/translators/tags/tags.h"
#include "tests/unit/count_allocations.h"
#include "tests/unit/filters/stages/fixture.h"

namespace atalaya::testing {
namespace {

template <class T>
uint64_t steady_allocations(const core::Value &parameters, int warm_up = 10) {
  Bench<T> bench(parameters);
  uint64_t total = 0;
  // Past the window in which forgotten entities are swept, so that sweeping is measured too.
  for (int window = 0; window < warm_up + 130; ++window) {
    bench.batch.clear();
    for (int pid = 0; pid < 200; ++pid)
      bench.add("host=a pid=" + std::to_string(pid) + " process=" + std::to_string(pid % 10) +
                " | p.cpu=" + std::to_string((pid * 7 + window) % 100) + " p.n=1i");
    const uint64_t before = testing::allocations();
    bench.run(window);
    if (window >= warm_up) total += testing::allocations() - before;
  }
  return total;
}

}  // namespace

TEST_CASE("stages allocate nothing in steady state") {
  CHECK(steady_allocations<value::ValueFilter>(table({{"p.cpu", number(50)}, {"hysteresis", number(10)}})) == 0);
  CHECK(steady_allocations<value::ValueFilter>(table({{"p.cpu", number(50)}, {"rest", text("10s")}}), 110) == 0);
  CHECK(steady_allocations<match::MatchFilter>(table({{"process", list({"~^[1-5]$", "7"})}, {"metric", list({"p.c*"})}})) == 0);
  CHECK(steady_allocations<top::TopFilter>(table({{"by", text("p.cpu")}, {"per", list({"host"})}, {"k", integer(5)}})) == 0);
  CHECK(steady_allocations<aggregate::Aggregate>(table({{"by", list({"process"})}})) == 0);
  CHECK(steady_allocations<tags::Tags>(table({{"copy", table({{"name", text("process")}})},
                                              {"rename", table({{"process", text("command")}})},
                                              {"drop", list({"pid"})},
                                              {"add", table({{"team", text("data")}})}})) == 0);
}

}  // namespace atalaya::testing
