// SPDX-License-Identifier: Apache-2.0
// Random trees of processes that read a known number of bytes, fork, run threads, reap their children or do not: the kernel adds
// what a reaped child read to its parent, and no byte may count twice. The oracle is the plan of the tree.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "plugins/sources/proc/process/procfs_backend.h"
#include "tests/unit/sources/proc/process_test_host.h"
#include "tests/unit/without_bpf.h"

namespace atalaya::proc {
namespace {

constexpr uint64_t kBlock = 1024;  // taskstats rounds down to it
constexpr const char *kTreeName = "random tree";

struct Plan {
  uint64_t before = 0, after = 0;  // bytes that it reads before and after its children
  std::vector<uint64_t> threads;
  std::vector<Plan> children;
  enum { kWaits, kIgnores, kLeaves } reaping = kWaits;

  uint64_t bytes() const {
    uint64_t sum = before + after;
    for (const uint64_t bytes_of_thread : threads) sum += bytes_of_thread;
    for (const Plan &child : children) sum += child.bytes();
    return sum;
  }
  size_t processes() const {
    size_t sum = 1;
    for (const Plan &child : children) sum += child.processes();
    return sum;
  }
};

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  uint64_t below(uint64_t end) { return engine_() % end; }

 private:
  std::mt19937 engine_;
};

Plan random_plan(Random &random, bool threads, int depth) {
  Plan plan{.before = kBlock * random.below(64), .after = kBlock * random.below(64)};
  for (uint64_t i = threads ? random.below(4) : 0; i > 0; --i) plan.threads.push_back(kBlock * random.below(64));
  for (uint64_t i = depth > 0 ? random.below(4) : 0; i > 0; --i) plan.children.push_back(random_plan(random, threads, depth - 1));
  const uint64_t reaping = random.below(6);
  plan.reaping = reaping == 0 ? Plan::kIgnores : reaping == 1 ? Plan::kLeaves : Plan::kWaits;
  return plan;
}

void consume(int zero, uint64_t bytes) {
  char block[kBlock];
  for (; bytes > 0; bytes -= kBlock) (void)!::read(zero, block, kBlock);
}

void nap(uint32_t microseconds) {
  const timespec time{0, static_cast<long>(microseconds) * 1000};
  ::nanosleep(&time, nullptr);
}

[[noreturn]] void run(const Plan &plan, int zero) {
  consume(zero, plan.before);
  ::signal(SIGCHLD, plan.reaping == Plan::kIgnores ? SIG_IGN : SIG_DFL);
  for (const Plan &child : plan.children) {
    if (::fork() == 0) run(child, zero);
    nap(static_cast<uint32_t>(child.before % 7000));
  }
  for (const uint64_t bytes : plan.threads) std::thread(consume, zero, bytes).join();
  if (plan.reaping != Plan::kLeaves)
    while (::wait(nullptr) > 0) nap(500);
  nap(static_cast<uint32_t>(plan.after % 9000));
  consume(zero, plan.after);
  ::_exit(0);
}

// The tree below a process that adopts and reaps the orphans; it reads nothing.
pid_t start(const Plan &plan) {
  const pid_t keeper = ::fork();
  if (keeper != 0) return keeper;
  ::prctl(PR_SET_NAME, kTreeName);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const int zero = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  if (::fork() == 0) run(plan, zero);
  while (::wait(nullptr) > 0) {
  }
  ::_exit(0);
}

int64_t monotonic() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Sums bytes read by the processes of the tree over all windows.
class Meter {
 public:
  explicit Meter(ProcessBackend &backend) : backend_(backend) {
    backend.follow_exits(model_, [this](const ExitReading &exit) { ends_.push_back(exit); });
    pass();
  }

  void pass() {
    const auto lock = backend_.lock_exits();
    const int64_t previous_ns = time_ns_;
    time_ns_ = monotonic();
    model_.begin({time_ns_, backend_.uptime(), false});
    backend_.read(model_);
    std::map<int32_t, int64_t> read_ns;
    for (const Process *process : model_.live()) {
      const int32_t pid = process->now.pid;
      const auto before = read_ns_.find(pid);
      const int64_t from_ns = before == read_ns_.end() ? previous_ns : before->second;
      if (process->now.name.text() == kTreeName)
        bytes_ += process->rate(procfs::Counter::reads_bytes) * static_cast<double>(process->now.monotonic_ns - from_ns) / 1e9;
      read_ns.emplace(pid, process->unread ? time_ns_ : process->now.monotonic_ns);
    }
    read_ns_ = std::move(read_ns);
    backend_.report_exits();
    for (const ExitReading &exit : ends_) {
      const Counters used = model_.usage_since_last_reading(exit.last).value_or(Counters());
      if (exit.last.name.text() != kTreeName) continue;
      ++exits_;
      if (used.has(procfs::Counter::reads_bytes))
        bytes_ += static_cast<double>(used.get(procfs::Counter::reads_bytes));
      else
        ++unknown_;
    }
    ends_.clear();
    model_.end();
  }
  uint64_t bytes() const { return static_cast<uint64_t>(bytes_ + 0.5); }
  size_t exits() const { return exits_; }
  size_t unknown() const { return unknown_; }

 private:
  ProcessBackend &backend_;
  ProcessModel model_;
  int64_t time_ns_ = 0;
  std::map<int32_t, int64_t> read_ns_;
  std::vector<ExitReading> ends_;  // since the last pass
  double bytes_ = 0;
  size_t exits_ = 0, unknown_ = 0;  // unknown: ends without counters
};

void measure(Meter &meter, const Plan &plan, Random &random) {
  const pid_t keeper = start(plan);
  bool running = true;
  // The kernel reports ends late.
  for (int i = 0; i < 2000 && meter.exits() < plan.processes() + 1; ++i) {
    nap(static_cast<uint32_t>(random.below(20'000)));
    meter.pass();
    running = running && ::waitpid(keeper, nullptr, WNOHANG) == 0;
  }
  if (running) ::waitpid(keeper, nullptr, 0);
  CHECK(meter.exits() == plan.processes() + 1);
}

uint32_t seed() {
  const char *given = std::getenv("ATALAYA_SEED");
  return given == nullptr ? std::random_device()() : static_cast<uint32_t>(std::strtoul(given, nullptr, 10));
}

TEST_CASE("with BPF each byte that a tree of processes reads counts once") {
  auto bpf = open_bpf_backend();
  if (!bpf) {
    tests::skip_without_bpf(bpf.error());
    return;
  }
  const uint32_t first = seed();
  for (uint32_t round = 0; round < 12; ++round) {
    CAPTURE(first + round);
    Random random(first + round);
    const Plan plan = random_plan(random, true, 4);
    Meter meter(**bpf);
    measure(meter, plan, random);
    CHECK(meter.bytes() <= plan.bytes());
    if (meter.unknown() == 0) CHECK(meter.bytes() == plan.bytes());  // the kernel does not report each freeing
    CHECK(meter.unknown() <= 3 + plan.processes() / 20);
  }
}

TEST_CASE("with procfs no byte counts twice, and nearly none is lost of processes without threads") {
  TestHost host;
  ProcfsBackend procfs(host.host(), "/", true);
  if (!host.logged.empty()) {
    MESSAGE("no taskstats here: skipped: " << host.logged.front());
    return;
  }
  const uint32_t first = seed();
  uint64_t planned = 0, found = 0;  // of trees without threads
  for (uint32_t round = 0; round < 12; ++round) {
    CAPTURE(first + round);
    Random random(first + round);
    const bool threads = round % 2 == 1;
    const Plan plan = random_plan(random, threads, 4);
    Meter meter(procfs);
    measure(meter, plan, random);
    CHECK(meter.bytes() <= plan.bytes());
    if (threads) continue;
    planned += plan.bytes();
    found += meter.bytes();
  }
  // A process that cannot be read while it ends is lost; one may have much of its own tree.
  CHECK(found >= planned * 9 / 10);
}

}  // namespace
}  // namespace atalaya::proc
