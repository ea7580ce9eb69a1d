// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/counters/entities.h"

#include <doctest/doctest.h>

#include "plugins/sources/counters/pmu.h"
#include "tests/unit/sources/proc/host_fixture.h"

namespace atalaya::counters {
namespace {

using proc::test::TempRoot;

io::MatcherList names(const std::vector<std::string> &patterns) {
  auto list = io::MatcherList::parse(patterns);
  REQUIRE(list.ok());
  return std::move(*list);
}

void add_process(TempRoot &root, const std::string &pid, const std::string &name, int start,
                 std::initializer_list<std::string> threads) {
  const std::string folder = "proc/" + pid + "/";
  root.write(folder + "stat", pid + " (" + name + ") S 1 1 1 0 -1 4194304 0 0 0 0 5 5 0 0 20 0 1 0 " + std::to_string(start) +
                                  " 1000 10 18446744073709551615 0\n");
  for (const std::string &thread : threads) root.write(std::string(folder).append("task/").append(thread).append("/stat"), "");
}

}  // namespace

TEST_CASE("processes by their names") {
  TempRoot root;
  add_process(root, "7", "java", 100, {"7", "9", "8"});
  add_process(root, "12", "a) (b", 200, {"12"});
  add_process(root, "3", "bash", 300, {"3"});
  root.write("proc/self/stat", "no process");
  root.write("proc/99/stat", "broken");
  ProcessList list(root.path(), names({"java", "a*"}));
  const auto &found = list.read();
  REQUIRE(found.size() == 2);
  CHECK(found[0].pid == 7);
  CHECK(found[0].name == "java");
  CHECK(found[1].name == "a) (b");
  CHECK(found[1].start_ns == found[0].start_ns * 2);
  CHECK(list.threads(7) == std::vector<int32_t>{7, 8, 9});
  CHECK(list.threads(4).empty());
  root.remove("proc/7");
  CHECK(list.read().size() == 1);
}

TEST_CASE("the tree that perf events know cgroups of") {
  const std::string v2 = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
  const std::string v1 = "42 31 0:39 / /sys/fs/cgroup/perf_event rw,relatime - cgroup cgroup rw,perf_event\n";
  const std::string other = "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n";
  CHECK(perf_tree(other + v2) == "sys/fs/cgroup/unified");
  CHECK(perf_tree(v2 + other + v1) == "sys/fs/cgroup/perf_event");
  CHECK_FALSE(perf_tree(other));
  CHECK_FALSE(perf_tree("x\n"));
}

TEST_CASE("cgroups by their paths") {
  TempRoot root;
  root.write("proc/self/mountinfo", "41 31 0:38 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n");
  root.write("sys/fs/cgroup/system.slice/a.service/cgroup.procs", "");
  root.write("sys/fs/cgroup/system.slice/b.service/cgroup.procs", "");
  root.write("sys/fs/cgroup/user.slice/cgroup.procs", "");
  CgroupList list(root.path(), names({"/system.slice/*", "!*b.service"}), 64);
  CHECK(list.any());
  std::vector<std::string> paths;
  list.read([&](std::string_view path, uint64_t inode, int folder) {
    paths.emplace_back(path);
    CHECK(inode > 0);
    CHECK(folder >= 0);
  });
  CHECK(paths == std::vector<std::string>{"/system.slice/a.service"});
}

TEST_CASE("units of two kinds of cores") {
  TempRoot root;
  REQUIRE(find_pmus(root.path()).size() == 1);
  CHECK(find_pmus(root.path())[0].type == 0);
  root.write("sys/bus/event_source/devices/cpu_core/type", "4\n");
  root.write("sys/bus/event_source/devices/cpu_core/cpus", "0-3\n");
  root.write("sys/bus/event_source/devices/cpu_atom/type", "10\n");
  root.write("sys/bus/event_source/devices/cpu_atom/cpus", "4,5\n");
  const auto pmus = find_pmus(root.path());
  REQUIRE(pmus.size() == 2);
  CHECK(pmus[0].type == 4);
  CHECK(pmus[0].cpus == std::vector<int>{0, 1, 2, 3});
  CHECK(pmus[1].type == 10);
  CHECK(pmus[1].cpus == std::vector<int>{4, 5});
}

}  // namespace atalaya::counters
