// SPDX-License-Identifier: Apache-2.0
// With real processes. They are waited for: the kernel sends the record of an end before it wakes the parent.
#include "plugins/sources/proc/exits/taskstats_listener.h"

#include <doctest/doctest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace atalaya::proc {
namespace {

// A child that does something and ends.
pid_t fork_child(const std::function<void()> &work) {
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid != 0) return pid;
  work();
  ::_exit(0);
}

rusage wait_for(pid_t pid) {
  rusage usage{};
  REQUIRE(::wait4(pid, nullptr, 0, &usage) == pid);
  return usage;
}

void run_child(const std::function<void()> &work) {
  wait_for(fork_child(work));
}

uint64_t nanoseconds(const timeval &time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_usec) * 1000;
}

void burn(clockid_t clock, int64_t ns) {
  timespec now{};
  do {
    ::clock_gettime(clock, &now);
  } while (int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec < ns);
}

void set_name(const char *name) {
  ::prctl(PR_SET_NAME, name);
}

// Data that a child writes to it can be read after its end.
class Pipe {
 public:
  Pipe() { REQUIRE(::pipe(ends_) == 0); }
  Pipe(const Pipe &) = delete;
  Pipe &operator=(const Pipe &) = delete;
  ~Pipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  void write(const std::string &text) const {
    if (::write(ends_[1], text.data(), text.size()) < 0) std::abort();
  }
  std::string read() const {
    char text[4096];
    const ssize_t size = ::read(ends_[0], text, sizeof(text));
    return {text, size > 0 ? static_cast<size_t>(size) : 0};
  }

 private:
  int ends_[2];
};

class Listening {
 public:
  explicit Listening(const TaskstatsSettings &settings = {}) : listener(settings), status(listener.start()) {
    if (!status.ok()) MESSAGE("skipped: " << status.error());
  }
  explicit operator bool() const { return status.ok(); }

  std::vector<ExitReading> drain(const TaskstatsListener::NameOf &name_of = [](int32_t) { return procfs::Name(); }) {
    std::vector<ExitReading> exits;
    listener.drain(name_of, [&exits](const ExitReading &exit) { exits.push_back(exit); });
    return exits;
  }

  TaskstatsListener listener;
  core::Status status;
};

std::vector<ExitReading> of_pid(const std::vector<ExitReading> &exits, pid_t pid) {
  std::vector<ExitReading> found;
  std::copy_if(exits.begin(), exits.end(), std::back_inserter(found),
               [pid](const ExitReading &exit) { return exit.last.pid == pid; });
  return found;
}

uint64_t start_ns_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  text.erase(0, text.rfind(')') + 2);
  uint64_t ticks = 0;
  REQUIRE(std::sscanf(text.c_str(), "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %lu", &ticks) ==
          1);
  return ticks * 1'000'000'000 / static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
}

TEST_CASE("each short-lived process is reported once, with its name and its parent's") {
  Listening host;
  if (!host) return;
  std::vector<pid_t> pids;
  for (int i = 0; i < 50; ++i) {
    pids.push_back(fork_child([] { set_name("short (lived) \n"); }));
    wait_for(pids.back());
  }
  const auto exits = host.drain([](int32_t pid) { return procfs::Name(pid == ::getpid() ? "the test" : ""); });
  for (const pid_t pid : pids) {
    const auto found = of_pid(exits, pid);
    REQUIRE(found.size() == 1);
    CHECK(found[0].last.name.text() == "short (lived) \n");
    CHECK(found[0].parent.text() == "the test");
    CHECK(found[0].cgroup == 0);
    CHECK(found[0].last.counters.has(procfs::Counter::user_ns));
    CHECK(found[0].last.counters.has(procfs::Counter::kernel_ns));
  }
  CHECK(of_pid(host.drain(), pids.front()).empty());
  CHECK(host.listener.errors().lost == 0);
  CHECK(host.listener.errors().malformed == 0);
}

TEST_CASE("the report of a process equals its parent's result of wait") {
  Listening host;
  if (!host) return;
  const pid_t pid = fork_child([] {
    std::vector<char> memory(8 << 20, 1);
    burn(CLOCK_PROCESS_CPUTIME_ID, 100'000'000);
    ::usleep(0);
    if (memory[4096] != 1) std::abort();
  });
  const rusage usage = wait_for(pid);
  const auto found = of_pid(host.drain(), pid);
  REQUIRE(found.size() == 1);
  const auto &counters = found[0].last.counters;
  const uint64_t cpu_ns = counters.get(procfs::Counter::user_ns) + counters.get(procfs::Counter::kernel_ns);
  // Up to a tick, of 10 ms at most, is not in the record yet.
  CHECK(cpu_ns + 10'000'000 >= 100'000'000);
  CHECK(cpu_ns <= nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime) + 1'000'000);
  CHECK(counters.get(procfs::Counter::faults_minor) >= 1000);
  CHECK(counters.get(procfs::Counter::faults_minor) <= static_cast<uint64_t>(usage.ru_minflt));
  CHECK(counters.get(procfs::Counter::switches_voluntary) <= static_cast<uint64_t>(usage.ru_nvcsw));
}

TEST_CASE("a process with threads is reported once, when all have ended, under the name of the first one") {
  Listening host;
  if (!host) return;
  constexpr uint64_t kThreads = 8;
  constexpr int64_t kEach_ns = 20'000'000;
  const pid_t pid = fork_child([] {
    set_name("many");
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (uint64_t i = 0; i < kThreads; ++i)
      threads.emplace_back([] {
        set_name("one of them");
        burn(CLOCK_THREAD_CPUTIME_ID, kEach_ns);
      });
    for (std::thread &thread : threads) thread.join();
  });
  const rusage usage = wait_for(pid);
  const auto exits = host.drain();
  const auto found = of_pid(exits, pid);
  REQUIRE(found.size() == 1);
  CHECK(found[0].last.name.text() == "many");
  const auto &counters = found[0].last.counters;
  const uint64_t cpu_ns = counters.get(procfs::Counter::user_ns) + counters.get(procfs::Counter::kernel_ns);
  CHECK(cpu_ns + (kThreads + 1) * 10'000'000 >= kThreads * kEach_ns);
  CHECK(cpu_ns <= nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime) + 1'000'000);
  CHECK(counters.get(procfs::Counter::faults_minor) <= static_cast<uint64_t>(usage.ru_minflt));
  CHECK(counters.get(procfs::Counter::faults_minor) >= kThreads);  // a stack for each
  for (const ExitReading &exit : exits) CHECK(exit.last.name.text() != "one of them");
}

TEST_CASE("the first thread may end before the others, and all may end at once") {
  Listening host;
  if (!host) return;
  const pid_t early = fork_child([] {
    set_name("leader gone");
    const pthread_t leader = ::pthread_self();
    std::thread([leader] {
      ::pthread_join(leader, nullptr);
      ::syscall(SYS_exit_group, 0);
    }).detach();
    ::syscall(SYS_exit, 0);
  });
  wait_for(early);
  std::vector<pid_t> pids;
  for (int i = 0; i < 20; ++i) {
    pids.push_back(fork_child([] {
      set_name("at once");
      for (int thread = 0; thread < 8; ++thread)
        std::thread([] {
          set_name("one of them");
          ::pause();
        }).detach();
    }));
    wait_for(pids.back());
  }
  const auto exits = host.drain();
  REQUIRE(of_pid(exits, early).size() == 1);
  CHECK(of_pid(exits, early)[0].last.name.text() == "leader gone");
  for (const pid_t pid : pids) {
    REQUIRE(of_pid(exits, pid).size() == 1);
    CHECK(of_pid(exits, pid)[0].last.name.text() == "at once");
  }
}

TEST_CASE("the start of an ended process is that of the live one") {
  Listening host;
  if (!host) return;
  Pipe gate;
  const pid_t pid = fork_child([&gate] { gate.read(); });
  const uint64_t start_ns = start_ns_of(pid);
  gate.write("go");
  wait_for(pid);
  const auto found = of_pid(host.drain(), pid);
  REQUIRE(found.size() == 1);
  const uint64_t suspended_ns = host.listener.suspended_ns();
  CHECK(found[0].last.start_ns != 0);
  CHECK(matches(start_ns, found[0], suspended_ns));
  CHECK_FALSE(matches(start_ns + 5'000'000'000, found[0], suspended_ns));
}

TEST_CASE("a process that was born and ended since the last pass is reported as born since then, also with drains in between") {
  Listening host;
  if (!host) return;
  for (int i = 0; i < 20; ++i) {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    host.drain();
    host.listener.begin_pass();
    const pid_t pid = fork_child([] {});
    std::vector<ExitReading> found;
    if (i % 2 == 0) found = of_pid(host.drain(), pid);  // it may have ended already
    wait_for(pid);
    for (const ExitReading &exit : of_pid(host.drain(), pid)) found.push_back(exit);
    REQUIRE(found.size() == 1);
    CHECK(found[0].last.start_ns >= static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec));
  }
}

TEST_CASE("a start matches within a second, and earlier by as long as the host was suspended") {
  ExitReading exit;
  CHECK(matches(12345, exit, 0));  // its start is unknown: the pid is all there is
  constexpr uint64_t kSecond = 1'000'000'000;
  exit.last.start_ns = 100 * kSecond;
  CHECK(matches(100 * kSecond, exit, 0));
  CHECK(matches(101 * kSecond, exit, 0));
  CHECK(matches(99 * kSecond, exit, 0));
  CHECK_FALSE(matches(102 * kSecond, exit, 0));
  CHECK_FALSE(matches(98 * kSecond, exit, 0));
  CHECK(matches(50 * kSecond, exit, 50 * kSecond));
  CHECK_FALSE(matches(102 * kSecond, exit, 50 * kSecond));
}

TEST_CASE("a living parent that no pass has seen yet is known") {
  Listening host;
  if (!host) return;
  const pid_t child = fork_child([] {});
  wait_for(child);
  set_name("unseen parent");
  const auto found = of_pid(host.drain(), child);
  REQUIRE(found.size() == 1);
  CHECK(found[0].parent.text() == "unseen parent");
}

TEST_CASE("a parent that lived too short for any pass is known by its own end") {
  Listening host;
  if (!host) return;
  Pipe pipe;
  run_child([&pipe] {
    set_name("short parent");
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ::waitpid(child, nullptr, 0);
    pipe.write(std::to_string(child));
  });
  const auto found = of_pid(host.drain(), std::stoi(pipe.read()));
  REQUIRE(found.size() == 1);
  CHECK(found[0].parent.text() == "short parent");
}

TEST_CASE("records that find no room are counted, and later ones arrive again") {
  Listening host({.receive_buffer_bytes = 4096});
  if (!host) return;
  constexpr size_t kExits = 200;
  for (size_t i = 0; i < kExits; ++i) run_child([] {});
  const size_t seen = host.drain().size();
  const uint64_t lost = host.listener.errors().lost;
  CHECK(seen < kExits);
  CHECK(lost > 0);
  CHECK(seen + lost >= kExits);  // other processes of this host end too
  bool arrived = false;
  for (int i = 0; i < 1000 && !arrived; ++i) {  // so little room may be filled by other processes of this host
    const pid_t pid = fork_child([] {});
    wait_for(pid);
    arrived = of_pid(host.drain(), pid).size() == 1;
  }
  CHECK(arrived);
  CHECK(host.listener.errors().malformed == 0);
}

TEST_CASE("after a stop nothing is reported, and it can be started again") {
  Listening host;
  if (!host) return;
  host.listener.stop();
  const pid_t before = fork_child([] {});
  wait_for(before);
  CHECK(host.drain().empty());
  REQUIRE(host.listener.start().ok());
  const pid_t after = fork_child([] {});
  wait_for(after);
  const auto exits = host.drain();
  CHECK(of_pid(exits, before).empty());
  CHECK(of_pid(exits, after).size() == 1);
}

// The result of a start in a separate process after a preparation.
std::string refusal(const std::function<bool()> &prepare) {
  Pipe pipe;
  run_child([&] {
    if (!prepare()) return pipe.write("skipped");
    const auto send = [&pipe] {
      TaskstatsListener listener({});
      const core::Status status = listener.start();
      pipe.write(status.ok() ? "started" : status.error());
    };
    // A new pid namespace begins with the next child.
    const pid_t child = ::fork();
    if (child == 0) {
      send();
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
  });
  return pipe.read();
}

TEST_CASE("each reason why it cannot listen names the fix") {
  if (!Listening()) return;
  CHECK(refusal([] { return true; }) == "started");
  if (::geteuid() != 0) return;
  CHECK(refusal([] { return ::setuid(65534) == 0; }) ==
        "taskstats: refused: Operation not permitted; run as root or with CAP_NET_ADMIN, in the host's user namespace");
  const std::string network = refusal([] { return ::unshare(CLONE_NEWNET) == 0; });
  if (network != "skipped")
    CHECK(network ==
          "taskstats: no records arrive; run it in the host's network namespace, not in a container's or with PrivateNetwork=");
  const std::string pids = refusal([] { return ::unshare(CLONE_NEWPID) == 0; });
  if (pids != "skipped") {
    CHECK(pids.find("taskstats: cannot listen on the CPUs ") == 0);
    CHECK(pids.find("Invalid argument; run it in the host's user and pid namespaces, not in a container's") != std::string::npos);
  }
}

}  // namespace
}  // namespace atalaya::proc
