// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/kernel/cgroup_watch.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <map>
#include <random>
#include <string>

#include "tests/unit/sources/proc/host_fixture.h"

namespace atalaya::kernel {
namespace {

using proc::test::TempRoot;

struct Tree {
  TempRoot root;
  CgroupWatch watch;
  bool v2;
  explicit Tree(bool version2) : v2(version2) {
    const std::string mountinfo = v2 ? "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
                                     : "30 1 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
                                       "31 1 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
    root.write("proc/1/mountinfo", mountinfo);
    root.write("sys/fs/cgroup/" + std::string(v2 ? "cgroup.procs" : "cpu/tasks"), "");
    root.write("sys/fs/cgroup/" + std::string(v2 ? "cgroup.procs" : "memory/tasks"), "");
    std::vector<procfs::Mount> mounts;
    procfs::parse_mountinfo(mountinfo, mounts);
    REQUIRE(watch.open(root.path(), mounts));
  }
  void set(const std::string &cgroup, uint64_t throttled_us, uint64_t periods, uint64_t kills) {
    if (v2) {
      root.write("sys/fs/cgroup/" + cgroup + "/cpu.stat", "usage_usec 9\nnr_throttled " + std::to_string(periods) +
                                                              "\nthrottled_usec " + std::to_string(throttled_us) + "\n");
      root.write("sys/fs/cgroup/" + cgroup + "/memory.events.local", "oom 9\noom_kill " + std::to_string(kills) + "\n");
    } else {
      root.write("sys/fs/cgroup/cpu/" + cgroup + "/cpu.stat",
                 "nr_throttled " + std::to_string(periods) + "\nthrottled_time " + std::to_string(throttled_us * 1000) + "\n");
      root.write("sys/fs/cgroup/memory/" + cgroup + "/memory.oom_control", "oom_kill " + std::to_string(kills) + "\n");
    }
  }
  Throttled throttled(std::string_view cgroup) const {
    for (const Throttled &one : watch.throttled())
      if (one.cgroup == cgroup) return one;
    return {};
  }
};

// Over all windows, the differences add up to the kernel's counters. A cgroup that is new began at 0.
TEST_CASE("throttled time and kills add up to the kernel's counters") {
  std::mt19937 random(7);
  for (const bool v2 : {false, true}) {
    Tree tree(v2);
    std::map<std::string, uint64_t> time_us, periods, kills, seen_ns, seen_periods, seen_kills;
    tree.set("first", 5000, 50, 5);
    tree.watch.update(true);  // earlier counts are not of any window
    CHECK(tree.watch.throttled().empty());
    CHECK(tree.watch.kills().empty());
    for (int window = 0; window < 15; ++window) {
      const std::string name = window % 5 == 2 ? "slice" + std::to_string(window) : "first";
      time_us[name] += random() % 3 * 1000;
      periods[name] += random() % 3;
      kills[name] += random() % 2;
      const bool is_first = name == "first";
      tree.set(name, time_us[name] + (is_first ? 5000 : 0), periods[name] + (is_first ? 50 : 0), kills[name] + (is_first ? 5 : 0));
      tree.watch.update(true);
      for (const Throttled &one : tree.watch.throttled()) {
        seen_ns[std::string(one.cgroup.substr(1))] += one.time_ns;
        seen_periods[std::string(one.cgroup.substr(1))] += one.periods;
      }
      for (const CgroupKills &one : tree.watch.kills()) seen_kills[std::string(one.cgroup.substr(1))] += one.kills;
    }
    for (const auto &[name, sum] : time_us) {
      CAPTURE(name);
      CHECK(seen_ns[name] == sum * 1000);
      CHECK(seen_periods[name] == periods[name]);
      CHECK(seen_kills[name] == kills[name]);
    }
  }
}

TEST_CASE("a counter that decreases was reset") {
  Tree tree(true);
  tree.set("a", 5000, 50, 0);
  tree.watch.update(false);
  tree.set("a", 1000, 2, 0);
  tree.watch.update(false);
  CHECK(tree.watch.throttled().empty());
  tree.set("a", 1500, 3, 0);
  tree.watch.update(false);
  CHECK(tree.throttled("/a").time_ns == 500'000);
}

TEST_CASE("a removed cgroup keeps its path for one more look") {
  Tree tree(true);
  tree.set("gone", 0, 0, 0);
  tree.watch.update(false);
  struct stat found {};
  REQUIRE(::stat((tree.root / "sys/fs/cgroup/gone").c_str(), &found) == 0);
  tree.root.remove("sys/fs/cgroup/gone");
  tree.watch.update(false);
  CHECK(tree.watch.path_of(found.st_ino) == "/gone");
  tree.watch.update(false);
  CHECK(tree.watch.path_of(found.st_ino).empty());
}

}  // namespace
}  // namespace atalaya::kernel
