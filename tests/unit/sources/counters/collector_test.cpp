// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/counters/collector.h"

#include <doctest/doctest.h>

#include <optional>

#include "tests/unit/sources/counters/fake_calls.h"
#include "tests/unit/sources/proc/host_fixture.h"

namespace atalaya::counters {
namespace {

using proc::test::FakeHost;
using proc::test::kSecond;
using proc::test::Seen;
using proc::test::TempRoot;
using proc::test::with_tag;
using test::FakeCalls;

io::MatcherList names(const std::vector<std::string> &patterns) {
  auto list = io::MatcherList::parse(patterns);
  REQUIRE(list.ok());
  return std::move(*list);
}

// A host of two CPUs.
struct Machine {
  Machine() { online("0-1\n"); }
  void online(const std::string &cpus) { root.write("sys/devices/system/cpu/online", cpus); }
  void add_process(int pid, const std::string &name, int start, std::initializer_list<int> threads) {
    const std::string folder = "proc/" + std::to_string(pid);
    root.write(folder + "/stat", std::to_string(pid) + " (" + name + ") S 1 1 1 0 -1 4194304 0 0 0 0 5 5 0 0 20 0 1 0 " +
                                     std::to_string(start) + " 1000 10 18446744073709551615 0\n");
    for (const int thread : threads) root.write(folder + "/task/" + std::to_string(thread) + "/stat", "");
  }
  void add_cgroup(const std::string &path) {
    root.write("proc/self/mountinfo", "41 31 0:38 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n");
    root.write("sys/fs/cgroup" + path + "/cgroup.procs", "");
  }
  void start(Options options = {}) {
    options.root = root.path();
    collector.emplace(fake.host(), options, calls);
    collector->start();
  }
  std::vector<Seen> collect(uint32_t flags = 0) {
    fake.now_ns += kSecond;
    return proc::test::collect(fake, *collector, batch, flags);
  }
  bool logged(std::string_view part) const {
    for (const std::string &line : fake.log)
      if (line.find(part) != std::string::npos) return true;
    return false;
  }

  TempRoot root;
  FakeHost fake;
  FakeCalls calls;
  core::Batch batch;
  std::optional<Collector> collector;
};

FakeCalls::Counted counted(uint64_t ns, std::map<size_t, uint64_t> counts) {
  return {ns, ns, std::move(counts)};
}

}  // namespace

TEST_CASE("the host: all CPUs together") {
  Machine machine;
  machine.start();
  CHECK(machine.calls.events.size() == 2 * (kSlots - 1));  // of the host cpu-clock is no number
  machine.calls.at({.cpu = 0}) = counted(1000, {{kCycles, 1000}, {kInstructions, 500}, {kSwitches, 30}});
  CHECK(machine.collect(ATALAYA_WINDOW_BASELINE).empty());
  machine.calls.at({.cpu = 0}) = counted(2000, {{kCycles, 3000}, {kInstructions, 1500}, {kSwitches, 40}});
  machine.calls.at({.cpu = 1}) = counted(2000, {{kCycles, 2000}, {kInstructions, 5000}, {kSwitches, 1}});
  const auto samples = machine.collect();
  REQUIRE(samples.size() == 1);
  CHECK(samples[0].tags.empty());
  CHECK(samples[0]["sys.counters.ipc"] == 1.5);
  CHECK(samples[0]["sys.counters.cycles"] == 4000);
  CHECK(samples[0]["sys.counters.switches"] == 11);
  CHECK(samples[0]["sys.counters.running"] == 100);
  CHECK_FALSE(samples[0]["sys.counters.cpu"]);
  machine.collector->stop();
  machine.collector->stop();
  CHECK(machine.calls.events.empty());
}

TEST_CASE("a sample of each core") {
  Machine machine;
  Options options;
  options.cores = true;
  machine.start(options);
  machine.collect(ATALAYA_WINDOW_BASELINE);
  machine.calls.at({.cpu = 0}) = counted(1000, {{kCycles, 1000}, {kInstructions, 500}});
  machine.calls.at({.cpu = 1}) = counted(1000, {{kCycles, 1000}, {kInstructions, 3000}});
  const auto samples = machine.collect();
  CHECK(samples.size() == 2);
  CHECK(with_tag(samples, "core", "0")["sys.counters.ipc"] == 0.5);
  CHECK(with_tag(samples, "core", "1")["sys.counters.ipc"] == 3);
}

TEST_CASE("without a PMU there are the kernel's own events, and the absent events are reported once") {
  Machine machine;
  for (size_t slot = 0; slot < kSlots; ++slot)
    if (!is_software(slot)) machine.calls.lacks(slot);
  machine.start();
  CHECK(machine.logged("has no hardware counters: only kernel events are counted"));
  machine.collect(ATALAYA_WINDOW_BASELINE);
  machine.calls.at({.cpu = 0}) = counted(1000, {{kSwitches, 7}, {kFaults, 9}});
  const auto samples = machine.collect();
  REQUIRE(samples.size() == 1);
  CHECK(samples[0].fields.size() == 4);
  CHECK(samples[0]["sys.counters.switches"] == 7);
  CHECK(samples[0]["sys.counters.faults"] == 9);
}

TEST_CASE("a CPU that lacks some events reports the rest") {
  Machine machine;
  machine.calls.lacks(kL1iLoads);
  machine.calls.lacks(kStalledBackend);
  machine.start();
  CHECK(
      machine.logged("this CPU has no counter for L1-icache-loads, stalled-cycles-backend; metrics derived from them are absent"));
  machine.collect(ATALAYA_WINDOW_BASELINE);
  machine.calls.at({.cpu = 0}) = counted(1000, {{kCycles, 100}, {kInstructions, 1000}, {kL1iMisses, 7}, {kStalledFrontend, 10}});
  const Seen host = machine.collect().at(0);
  CHECK(host["sys.counters.l1i.mpki"] == 7);
  CHECK(host["sys.counters.stalled.frontend"] == 10);
  CHECK_FALSE(host["sys.counters.l1i.misses.share"]);
  CHECK_FALSE(host["sys.counters.stalled.backend"]);
}

TEST_CASE("nothing that can be counted is no source") {
  Machine machine;
  for (size_t slot = 0; slot < kSlots; ++slot) machine.calls.lacks(slot);
  CHECK_THROWS_WITH(machine.start(), "this CPU or virtual machine counts none of the selected groups; add the group \"software\"");
  machine.calls.lacking.clear();
  machine.calls.denied = EACCES;
  CHECK_THROWS_WITH(machine.start(), "cannot open perf events: Permission denied; run as root or grant CAP_PERFMON");
}

TEST_CASE("CPUs come and go") {
  Machine machine;
  machine.start();
  machine.collect(ATALAYA_WINDOW_BASELINE);
  machine.online("0,2\n");
  machine.collect();
  CHECK(machine.calls.open_at({.cpu = 0}) == kSlots - 1);
  CHECK(machine.calls.open_at({.cpu = 1}) == 0);
  CHECK(machine.calls.open_at({.cpu = 2}) == kSlots - 1);
  machine.calls.at({.cpu = 2}) = counted(10, {{kCycles, 10}, {kInstructions, 40}});
  CHECK(machine.collect()[0]["sys.counters.ipc"] == 4);
  machine.calls.offline = {3};
  machine.online("0,2-3\n");
  machine.collect();
  CHECK(machine.fake.log.empty());
}

TEST_CASE("cores of two kinds are queried each by its own unit") {
  Machine machine;
  machine.root.write("sys/bus/event_source/devices/cpu_core/type", "4\n");
  machine.root.write("sys/bus/event_source/devices/cpu_core/cpus", "0\n");
  machine.root.write("sys/bus/event_source/devices/cpu_atom/type", "10\n");
  machine.root.write("sys/bus/event_source/devices/cpu_atom/cpus", "1\n");
  machine.add_process(50, "java", 100, {50});
  Options options;
  options.processes = names({"java"});
  machine.start(options);
  for (const auto &[event, opened] : machine.calls.events) {
    const bool software = opened.attributes.type == PERF_TYPE_SOFTWARE;
    const uint64_t unit = opened.attributes.config >> 32;
    CHECK(unit == (software ? 0U : opened.scope.cpu == 0 ? 4U : 10U));
    if (opened.scope.pid == 50) CHECK(software);
  }
}

TEST_CASE("processes by name, with all their threads, to their last moment") {
  Machine machine;
  machine.add_process(50, "java", 100, {50, 51});
  machine.add_process(60, "bash", 100, {60});
  machine.calls.gone = {51};  // it ends before it is reached
  Options options;
  options.host = false;
  options.processes = names({"java"});
  machine.start(options);
  CHECK(machine.calls.open_at({.pid = 50}) == kSlots);
  CHECK(machine.calls.open_at({.pid = 60}) == 0);
  machine.collect(ATALAYA_WINDOW_BASELINE);
  machine.calls.at({.pid = 50}) = counted(kSecond / 2, {{kCycles, 100}, {kInstructions, 250}, {kClock, kSecond / 2}});
  auto samples = machine.collect();
  REQUIRE(samples.size() == 1);
  CHECK(samples[0].tags.at("pid") == "50");
  CHECK(samples[0].tags.at("process") == "java");
  CHECK(samples[0]["proc.counters.ipc"] == 2.5);
  CHECK(samples[0]["proc.counters.cpu"] == 50);
  // It ends: its counts since then are reported, and then nothing more.
  machine.root.remove("proc/50");
  machine.calls.at({.pid = 50}).counts[kCycles] = 300;
  samples = machine.collect();
  REQUIRE(samples.size() == 1);
  CHECK(samples[0]["proc.counters.cycles"] == 200);
  CHECK(machine.collect().empty());
  CHECK(machine.calls.events.empty());
}

TEST_CASE("a pid that is used again is another process") {
  Machine machine;
  machine.add_process(50, "java", 100, {50});
  Options options;
  options.host = false;
  options.processes = names({"java"});
  machine.start(options);
  const int first = machine.calls.events.begin()->first;
  machine.collect(ATALAYA_WINDOW_BASELINE);
  CHECK(machine.calls.events.begin()->first == first);
  machine.add_process(50, "java", 200, {50});
  machine.collect();
  CHECK(machine.calls.events.begin()->first > first);
  CHECK(machine.calls.events.size() == kSlots);
}

TEST_CASE("cgroups by path, on every CPU, until they vanish") {
  Machine machine;
  machine.add_cgroup("/system.slice/a.service");
  Options options;
  options.host = false;
  options.cgroups = names({"/system.slice/*"});
  machine.start(options);
  CHECK(machine.calls.events.size() == 2 * kSlots);
  CHECK(machine.calls.events.begin()->second.scope.cgroup);
  machine.collect(ATALAYA_WINDOW_BASELINE);
  const Scope cpu1 = {.cpu = 1, .cgroup = true};
  machine.calls.at(cpu1) = counted(kSecond / 4, {{kCycles, 100}, {kInstructions, 50}, {kClock, kSecond / 4}});
  auto samples = machine.collect();
  REQUIRE(samples.size() == 1);
  CHECK(samples[0].tags.at("cgroup") == "/system.slice/a.service");
  CHECK(samples[0]["cgroup.counters.ipc"] == 0.5);
  CHECK(samples[0]["cgroup.counters.cpu"] == 25);
  machine.root.remove("sys/fs/cgroup/system.slice/a.service");
  CHECK(machine.collect().size() == 1);
  CHECK(machine.collect().empty());
  CHECK(machine.calls.events.empty());
}

TEST_CASE("a cgroup or process without enough descriptors is left out completely, and reported once") {
  Machine machine;
  for (int pid = 50; pid < 55; ++pid) machine.add_process(pid, "java", 100, {pid});
  Options options;
  options.processes = names({"java"});
  options.max_events = 2 * (kSlots - 1) + 2 * kSlots + 3;  // the host and two processes
  machine.start(options);
  machine.collect(ATALAYA_WINDOW_BASELINE);
  CHECK(machine.collect().size() == 3);
  REQUIRE(machine.fake.log.size() == 1);
  CHECK(machine.logged(
      "not counted: some processes: Too many open files; choose fewer groups, processes or cgroups, or raise LimitNOFILE"));
}

TEST_CASE("more matches than the maximum") {
  Machine machine;
  for (int pid = 50; pid < 55; ++pid) machine.add_process(pid, "java", 100, {pid});
  machine.add_cgroup("/a");
  machine.add_cgroup("/b");
  Options options;
  options.host = false;
  options.processes = names({"java"});
  options.cgroups = names({"/?"});
  options.max_processes = 2;
  options.max_cgroups = 1;
  machine.start(options);
  machine.collect(ATALAYA_WINDOW_BASELINE);
  CHECK(machine.collect().size() == 3);
  CHECK(machine.logged("not counted: some processes: more than max_processes = 2 match"));
  CHECK(machine.logged("not counted: some cgroups: more than max_cgroups = 1 match"));
  CHECK(machine.fake.log.size() == 2);
}

}  // namespace atalaya::counters
