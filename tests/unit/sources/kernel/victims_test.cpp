// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/kernel/victims.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tests/unit/rounds.h"

namespace atalaya::kernel {
namespace {

oom_mark mark_of(int pid, uint64_t start_ns, const char *name) {
  oom_mark mark{};
  mark.pid = pid;
  mark.start_ns = start_ns;
  mark.time_ns = 1000;
  mark.pages = 256;
  std::copy_n(name, std::char_traits<char>::length(name), mark.comm);
  return mark;
}

TEST_CASE("a logged kill has the cgroup of its mark, else that of the log") {
  Victims victims(4096);
  victims.add(KillCgroup{7, "/logged"});
  victims.add(KillCgroup{8, "/logged"});
  victims.add(Kill{7, "java", 2048}, 5);
  victims.add(Kill{8, "java", 2048}, 6);
  victims.add(mark_of(7, 1, "java"), "/marked");
  const auto found = victims.take(true);
  REQUIRE(found.size() == 2);
  CHECK(found[0].cgroup == "/marked");
  CHECK(found[1].cgroup == "/logged");
  CHECK(found[0].resident_mib == 2.0);
  CHECK(victims.take(true).empty());
}

TEST_CASE("a victim that was about to end is no kill while the log is complete") {
  Victims victims(4096);
  victims.add(mark_of(7, 1, "java"), "/a");
  CHECK(victims.take(true).empty());
  CHECK(victims.take(true).empty());
  CHECK(victims.take(false).empty());
}

TEST_CASE("without the log, a mark is a kill, once per process") {
  Victims victims(4096);
  victims.add(mark_of(7, 1, "java"), "/a");
  victims.add(mark_of(7, 1, "java"), "/a");  // another thread
  const auto found = victims.take(false);
  REQUIRE(found.size() == 1);
  CHECK(found[0].process == "java");
  CHECK(found[0].resident_mib == 1.0);
  victims.add(mark_of(7, 1, "java"), "/a");
  CHECK(victims.take(false).empty());
  victims.add(mark_of(7, 2, "java"), "/a");  // the number of another process
  CHECK(victims.take(false).size() == 1);
}

// The message of a kill may be read with a later window than its mark, or be lost; then its mark stands for it.
TEST_CASE("each kill is reported once, whatever the windows are") {
  std::mt19937 random(20);
  for (uint32_t round = 0; round < test::rounds(200); ++round) {
    Victims victims(4096);
    std::multiset<int64_t> killed, reported;
    std::vector<int64_t> late;
    for (int64_t pid = 1, window = 0; window < 20; ++window) {
      for (const int64_t one : std::exchange(late, {})) victims.add(Kill{one, "p", 1}, 0);
      const bool is_complete = random() % 4 != 0;
      for (auto i = random() % 4; i > 0; --i, ++pid) {
        killed.insert(pid);
        victims.add(mark_of(static_cast<int>(pid), 1, "p"), "/a");
        const auto fate = random() % 3;
        if (fate == 0) late.push_back(pid);
        if (fate == 1 || (fate == 2 && is_complete)) victims.add(Kill{pid, "p", 1}, 0);
      }
      for (const Victim &victim : victims.take(is_complete)) reported.insert(victim.pid);
    }
    for (const int64_t one : late) victims.add(Kill{one, "p", 1}, 0);
    for (const Victim &victim : victims.take(true)) reported.insert(victim.pid);
    CHECK(reported == killed);
  }
}

}  // namespace
}  // namespace atalaya::kernel
