// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/sources/uprobe/tally.h"

namespace atalaya::uprobe {
namespace {

io::MatcherList matchers(const std::vector<std::string> &patterns) {
  auto list = io::MatcherList::parse(patterns);
  REQUIRE(list);
  return std::move(*list);
}

uprobe_key key(uint32_t region, std::string_view process = {}) {
  uprobe_key result{};
  result.region = region;
  process.copy(result.comm, sizeof(result.comm));
  return result;
}

uprobe_run run(uint64_t begin_ns, uint32_t region = 0, uint32_t pid = 7) {
  return {.begin_ns = begin_ns, .end_ns = begin_ns + 100, .bytes = -1, .region = region, .pid = pid, .comm = {}};
}

}  // namespace

TEST_CASE("a window has the counts of its time") {
  Tally tally(2, {});
  tally.begin_window();
  CHECK(tally.add(key(1), {.runs = 10, .time_ns = 1000, .brief = 1, .dropped = 2, .nested = 3, .orphans = 4, .missed = 5}));
  CHECK(tally.cost(1).runs == 10);
  tally.begin_window();
  CHECK(tally.cost(1).runs == 0);
  CHECK(tally.add(key(1), {.runs = 12, .time_ns = 1500, .brief = 1, .dropped = 3, .nested = 3, .orphans = 6, .missed = 5}));
  tally.add_lost(1, 7);
  CHECK(tally.cost(1).runs == 2);
  CHECK(tally.cost(1).time_ns == 500);
  CHECK(tally.cost(1).brief == 0);
  CHECK(tally.cost(1).dropped == 8);
  CHECK(tally.cost(1).nested == 0);
  CHECK(tally.cost(1).orphans == 2);
  CHECK(tally.cost(1).missed == 0);
  CHECK(tally.cost(0).runs == 0);
}

TEST_CASE("kernel records of unknown regions are left out") {
  Tally tally(2, {});
  tally.begin_window();
  CHECK(tally.add(key(2), {.runs = 1, .time_ns = 0, .brief = 0, .dropped = 0, .nested = 0, .orphans = 0, .missed = 0}));
  tally.add_lost(63, 1);
  CHECK(tally.cost(0).dropped + tally.cost(1).dropped == 0);
}

TEST_CASE("processes of other names do not count, and those without room by name were missed") {
  Tally tally(1, matchers({"app*"}));
  CHECK(tally.by_name());
  CHECK(tally.wants("app-1"));
  CHECK_FALSE(tally.wants("other"));
  tally.begin_window();
  const uprobe_counts counts{.runs = 10, .time_ns = 100, .brief = 1, .dropped = 1, .nested = 1, .orphans = 2, .missed = 3};
  CHECK(tally.add(key(0, "app-1"), counts));
  CHECK(tally.add(key(0, "app-2"), counts));
  CHECK_FALSE(tally.add(key(0, "other"), counts));
  CHECK(tally.add(key(0), counts));
  CHECK(tally.cost(0).runs == 20);
  CHECK(tally.cost(0).time_ns == 200);
  CHECK(tally.cost(0).missed == 2 * 3 + 15);
}

TEST_CASE("a name that fills its place") {
  const uprobe_key full = key(0, "exactly16bytes!!");
  CHECK(text_of(full.comm) == "exactly16bytes!!");
  CHECK(text_of(key(0, "short").comm) == "short");
}

TEST_CASE("runs that begin at once are two spans") {
  Tally tally(2, {});
  tally.begin_window();
  std::set<uint64_t> begins;
  for (int i = 0; i < 3; ++i) begins.insert(tally.start_of(run(1000)));
  CHECK(begins == std::set<uint64_t>{1000, 1001, 1002});
  CHECK(tally.start_of(run(1000, 1)) == 1000);     // of another region
  CHECK(tally.start_of(run(1000, 0, 8)) == 1000);  // of another process
  tally.begin_window();
  CHECK(tally.start_of(run(1001)) == 1003);  // one that was longer than the window that the others ended in
  CHECK(tally.start_of(run(5000)) == 5000);
}

}  // namespace atalaya::uprobe
