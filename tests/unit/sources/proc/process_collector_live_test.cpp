// SPDX-License-Identifier: Apache-2.0
// Samples of the processes of this host.
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <ctime>

#include <array>
#include <functional>
#include <sstream>
#include <vector>

#include "tests/unit/sources/proc/process_collector_fixture.h"

namespace atalaya::proc {
namespace {

namespace fs = std::filesystem;

double own_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval &time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double monotonic_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

TEST_CASE("the real host: the CPU of this process equals the kernel's charge") {
  Collector collector({});
  const std::string self = std::to_string(::getpid());
  const double cpu_outer = own_cpu_seconds(), time_outer = monotonic_seconds();
  const auto first = collector.collect();
  CHECK_FALSE(first.at(self).field("proc.cpu.user"));
  CHECK(first.at(self).field("proc.mem.resident") > 0);
  CHECK(first.at(self).field("proc.threads") >= 1);
  const double cpu_inner = own_cpu_seconds(), time_inner = monotonic_seconds();
  while (own_cpu_seconds() - cpu_inner < 0.3) {
  }
  const double cpu_inner_used = own_cpu_seconds() - cpu_inner, time_inner_passed = monotonic_seconds() - time_inner;
  const auto second = collector.collect();
  const double cpu_outer_used = own_cpu_seconds() - cpu_outer, time_outer_passed = monotonic_seconds() - time_outer;

  // The readings lie between the inner and the outer moments; user and kernel are each cut to ticks of 10 ms, twice.
  const Seen &own = second.at(self);
  const double percent = own.field("proc.cpu.user").value() + own.field("proc.cpu.kernel").value();
  CHECK(percent / 100 * time_outer_passed >= cpu_inner_used - 0.04);
  CHECK(percent / 100 * time_inner_passed <= cpu_outer_used + 0.04);
}

TEST_CASE("the real host: a process that was born in the window has rates, and is gone after its end") {
  Collector collector({});
  collector.collect();
  int to_child[2], to_parent[2];
  REQUIRE(::pipe(to_child) == 0);
  REQUIRE(::pipe(to_parent) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(to_child[1]);
    ::close(to_parent[0]);
    const double from = own_cpu_seconds();
    while (own_cpu_seconds() - from < 0.1) {
    }
    char byte = 1;
    (void)!::write(to_parent[1], &byte, 1);
    (void)!::read(to_child[0], &byte, 1);  // until the other end closes
    ::_exit(0);
  }
  char byte = 0;
  REQUIRE(::read(to_parent[0], &byte, 1) == 1);
  const auto during = collector.collect();
  const std::string pid = std::to_string(child);
  CHECK(during.at(pid).field("proc.cpu.user").value() + during.at(pid).field("proc.cpu.kernel").value() > 0);
  for (const int end : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) ::close(end);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  CHECK(collector.collect().count(pid) == 0);
}

// The collector's log in a separate process, after the action there; "skip" when the action is impossible.
std::vector<std::string> logged_in_child(const ProcessOptions &options, const std::function<bool()> &action) {
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::string text = "skip\n";
    if (action()) {
      Collector collector(options);
      for (int window = 0; window < 2; ++window) collector.collect();
      text.clear();
      for (const std::string &line : collector.host.logged) text += line + "\n";
    }
    (void)!::write(pipe[1], text.data(), text.size());
    ::_exit(0);
  }
  ::close(pipe[1]);
  std::array<char, 4096> text{};
  const ssize_t size = ::read(pipe[0], text.data(), text.size());
  ::close(pipe[0]);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  std::istringstream lines(std::string(text.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))));
  std::vector<std::string> result;
  for (std::string line; std::getline(lines, line);) result.push_back(line);
  return result;
}

bool drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, 2> none{};
  return ::syscall(SYS_capset, &header, none.data()) == 0;
}

std::string refused_to_root(const std::string &pid) {
  return "the kernel refuses /proc/PID/io of some processes even to root, the first is process " + pid +
         ": proc.disk.* and proc.io.* are absent for them; grant CAP_SYS_PTRACE if you need them";
}

TEST_CASE("refused io is reported once; root gets the first process instead of the advice to run as root") {
  Tree tree("states");
  fs::permissions(tree.path(), fs::perms{0755});
  for (const char *pid : {"2", "104"}) {
    tree.write("proc/" + std::string(pid) + "/io", "");
    fs::permissions(tree.path() + "/proc/" + pid + "/io", fs::perms::none);
  }
  const std::vector<std::string> skipped{"skip"};
  const auto to_user = logged_in_child({.root = tree.path()}, [] { return ::geteuid() != 0 || ::setuid(65534) == 0; });
  if (to_user != skipped)
    CHECK(to_user == std::vector<std::string>{"cannot read /proc/PID/io of other users: proc.disk.* and proc.io.* are absent for "
                                              "their processes; run as root or grant CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH"});
  const auto to_root = logged_in_child({.root = tree.path()}, [] { return ::geteuid() == 0 && drop_capabilities(); });
  if (to_root == skipped) {
    MESSAGE("needs root: skipped");
    return;
  }
  REQUIRE(to_root.size() == 1);
  CHECK((to_root[0] == refused_to_root("2") || to_root[0] == refused_to_root("104")));  // as the folder lists them
}

TEST_CASE("the real host: without privileges io of others is absent, and reported once") {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(2);
    Collector collector({.backend = "procfs", .exited = false});
    collector.collect();
    const auto all = collector.collect();
    const auto init = all.find("1");  // where other users' processes are hidden there is nothing to deny
    const bool silent = init == all.end() ? collector.host.logged.empty() : collector.host.logged.size() == 1;
    const bool absent = init == all.end() || (!init->second.field("proc.disk.reads.mb") && init->second.field("proc.cpu.user"));
    ::_exit(silent && absent ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

}  // namespace
}  // namespace atalaya::proc
