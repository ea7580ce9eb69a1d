// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/process/process_extras.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <set>
#include <string>

namespace atalaya::proc {
namespace {

const std::string kId = "4f5e0123456789ab0123456789ab0123456789ab0123456789ab0123456789ab";

TEST_CASE("the cgroup is the most specific path") {
  CHECK(parse_cgroup("0::/user.slice/a.scope\n") == "/user.slice/a.scope");
  CHECK(parse_cgroup("4:memory:/m\n1:name=systemd:/s\n0::/v2\n") == "/v2");
  CHECK(parse_cgroup("4:memory:/m\n1:name=systemd:/s\n0::/\n") == "/s");
  CHECK(parse_cgroup("4:memory:/\n3:cpu,cpuacct:/c\n1:name=systemd:/\n0::/\n") == "/c");
  CHECK(parse_cgroup("1:name=systemd:/\n0::/\n") == "/");
  CHECK(parse_cgroup("0::/with:colon\n") == "/with:colon");
  CHECK(parse_cgroup("").empty());
  CHECK(parse_cgroup("nonsense\n::\n0:\n").empty());
}

TEST_CASE("unit and container come from the cgroup's path") {
  CHECK(unit_of("/system.slice/ssh.service") == "ssh.service");
  CHECK(unit_of("/user.slice/user@1.service/app.slice/x.scope/sub") == "x.scope");
  CHECK(unit_of("/.service").empty());
  CHECK(unit_of("/").empty());
  CHECK(container_of("/docker/" + kId) == kId.substr(0, 12));
  CHECK(container_of("/kubepods.slice/pod1.slice/cri-containerd-" + kId + ".scope") == kId.substr(0, 12));
  CHECK(container_of("/docker/" + kId + "0").empty());
  CHECK(container_of("/system.slice/ssh.service").empty());
}

TEST_CASE("open files are counted as the kernel lists them") {
  const core::Descriptor folder = procfs::open_root("/", "proc");
  const auto before = count_open_files(folder.get(), ::getpid());
  REQUIRE(before);
  const core::Descriptor one(::open("/dev/null", O_RDONLY | O_CLOEXEC)), two(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  CHECK(count_open_files(folder.get(), ::getpid()) == *before + 2);
  CHECK_FALSE(count_open_files(folder.get(), 0));
}

struct Crowd {
  std::vector<Process> processes;
  std::vector<const Process *> live;
  explicit Crowd(int32_t count) : processes(static_cast<size_t>(count)) {
    for (int32_t i = 0; i < count; ++i) {
      processes[static_cast<size_t>(i)].now.pid = i + 1;
      live.push_back(&processes[static_cast<size_t>(i)]);
    }
  }
};

TEST_CASE("turns: the busiest every time, all others once a round, no more than the budget") {
  Crowd crowd(10);
  crowd.processes[4].rates.set(procfs::Counter::kernel_ns, 9);
  crowd.processes[7].rates.set(procfs::Counter::user_ns, 8);
  ExpensiveReadSelector turns(4);
  std::multiset<int32_t> had;
  for (int window = 0; window < 4; ++window) {  // the other 8 in 4 windows, 2 in each
    const auto &chosen = turns.choose(crowd.live);
    REQUIRE(chosen.size() == 4);
    for (const Process *process : chosen) had.insert(process->now.pid);
  }
  for (int32_t pid = 1; pid <= 10; ++pid) CHECK(had.count(pid) == (pid == 5 || pid == 8 ? 4 : 1));
}

TEST_CASE("turns: few processes, none, and no budget") {
  Crowd crowd(3);
  CHECK(ExpensiveReadSelector(100).choose(crowd.live).size() == 3);
  CHECK(ExpensiveReadSelector(0).choose(crowd.live).empty());
  CHECK(ExpensiveReadSelector(1).choose(crowd.live).size() == 1);
  CHECK(ExpensiveReadSelector(4).choose({}).empty());
}

}  // namespace
}  // namespace atalaya::proc
