// SPDX-License-Identifier: Apache-2.0
// A simulated host: processes whose use of resources varies as that of real ones, and planted causes. Windows of 5 s.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/rounds.h"
#include "tests/unit/store/query/memory_store.h"

namespace atalaya::explain::test {

using atalaya::test::rounds;
using query::test::kSecond;
using query::test::kT0;
using query::test::MemoryStore;
using query::test::Values;
using store::Tags;

inline constexpr int kStep = 5, kLength = 600;  // of one of the two ranges
inline constexpr int kEnd = 2 * kLength;

// Spans of facts, too.
class SimulatedStore : public MemoryStore {
 public:
  SimulatedStore() {
    duration_ns = kStep * kSecond;
    block = 1000;
    using store::Kind;
    for (const char *name : {"proc.net.tcp.in.mb", "proc.net.udp.in.mb", "proc.net.udp.out.mb"})
      declare(name, Kind::rate, "Mibit/s");
    for (const char *name : {"proc.switches.voluntary", "sys.disk.read.ios", "sys.disk.write.ios", "proc.faults.major"})
      declare(name, Kind::rate, "/s");
    for (const char *name : {"jvm.gc.time", "sys.disk.usage", "sys.pressure.memory.some.stall"}) declare(name, Kind::rate, "%");
    declare("sys.disk.read.time", Kind::rate, "ms/s");
    declare("proc.cpu.energy", Kind::delta, "J");
    declare("proc.net.lost", Kind::delta, "1");
  }

  struct Fact {
    int from = 0, to = -1;  // -1: open
    std::string fact, value;
  };
  std::vector<Fact> facts;

  void spans(const store::Selection &selection, const std::function<void(const store::Span &)> &visitor) override {
    for (const Fact &fact : facts) {
      const int64_t start = kT0 + fact.from * kSecond, end = fact.to < 0 ? selection.range.to_ns + 1 : kT0 + fact.to * kSecond;
      if (selection.metrics.front() != "fact" || start > selection.range.to_ns || end <= selection.range.from_ns) continue;
      const Tags tags = {{"host", "h"}, {"fact", fact.fact}, {"value", fact.value}};
      visitor({start, fact.to < 0 ? -1 : end - start, 0, tags, "fact", {}});
    }
  }
};

// A value in time: a level, slow and fast noise, rare peaks.
class Noise {
 public:
  explicit Noise(uint32_t seed) : random_(seed) {}
  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }
  double normal(double deviation) { return std::normal_distribution<double>(0, deviation)(random_); }

  // Never below 0. `memory` is the share of the deviation that the next value keeps.
  Values series(double level, double deviation, double memory, double peak_chance = 0, double peak = 0) {
    Values values;
    double slow = 0;
    for (int second = kStep; second <= kEnd; second += kStep) {
      slow = memory * slow + normal(deviation) * std::sqrt(1 - memory * memory);
      const double burst = uniform(0, 1) < peak_chance ? uniform(0.5, 1) * peak : 0;
      values.emplace_back(second, std::max(0.0, level + slow + burst));
    }
    return values;
  }
  Values walk(double level, double step) {
    Values values;
    for (int second = kStep; second <= kEnd; second += kStep)
      values.emplace_back(second, level = std::max(1.0, level + (uniform(0, 1) < 0.2 ? normal(step) : 0)));
    return values;
  }

 private:
  std::mt19937 random_;
};

// Adds to the values of the second range, by the time since its start as a part of its length.
inline Values planted(Values values, const std::function<double(double)> &more) {
  for (auto &[second, value] : values)
    if (second > kLength) value += more(static_cast<double>(second - kLength) / kLength);
  return values;
}

struct Host {
  SimulatedStore store;
  Noise noise;
  explicit Host(uint32_t seed) : noise(seed) {}

  Tags process(const std::string &name, int pid) { return {{"host", "h"}, {"process", name}, {"pid", std::to_string(pid)}}; }
  static double none(double) { return 0; }

  struct Load {
    std::function<double(double)> user = none, kernel = none, memory = none, reads = none, writes = none, traffic = none,
                                  switches = none, delay = none;
  };
  void add_process(const std::string &name, int pid, double cpu, double memory, const Load &load) {
    const Tags tags = process(name, pid);
    store.add("proc.cpu.user", tags, planted(noise.series(cpu, cpu / 3, 0.6, 0.03, 20), load.user));
    store.add("proc.cpu.kernel", tags, planted(noise.series(cpu / 4, cpu / 8, 0.6), load.kernel));
    store.add("proc.cpu.delay", tags, planted(noise.series(cpu / 20, cpu / 20, 0.2), load.delay));
    store.add("proc.mem.resident", tags, planted(noise.walk(memory, memory / 500), load.memory));
    store.add("proc.disk.reads.mb", tags, planted(noise.series(0, 0.02, 0.2, 0.05, 3), load.reads));
    store.add("proc.disk.writes.mb", tags, planted(noise.series(0.05, 0.05, 0.2, 0.05, 2), load.writes));
    store.add("proc.net.tcp.out.mb", tags, planted(noise.series(cpu / 10, cpu / 20, 0.5), load.traffic));
    store.add("proc.switches.voluntary", tags, planted(noise.series(50 + cpu * 10, 20, 0.5), load.switches));
  }
  // What every host has, with the planted changes of the kernel's own counters.
  void add_host(const std::function<double(double)> &disk_time = none, const std::function<double(double)> &disk_busy = none,
                const std::function<double(double)> &pressure = none, const std::function<double(double)> &throttled = none) {
    for (const char *core : {"0", "1", "2", "3"})
      store.add("sys.cpu.usage", {{"host", "h"}, {"core", core}}, noise.series(10, 4, 0.6));
    store.add("sys.mem.total", {{"host", "h"}}, noise.series(16000, 0, 0));
    store.add("sys.disk.write.ios", {{"host", "h"}, {"disk", "sda"}}, noise.series(30, 8, 0.3));
    store.add("sys.disk.write.time", {{"host", "h"}, {"disk", "sda"}}, planted(noise.series(20, 8, 0.3), disk_time));
    store.add("sys.disk.usage", {{"host", "h"}, {"disk", "sda"}}, planted(noise.series(2, 1, 0.3), disk_busy));
    store.add("sys.pressure.io.some.stall", {{"host", "h"}}, planted(noise.series(0.5, 0.5, 0.3), pressure));
    store.add("cgroup.cpu.throttled.time", {{"host", "h"}, {"cgroup", "/batch"}}, planted(noise.series(0, 0, 0), throttled));
  }
  void add_usual() {
    for (const auto &[name, pid, cpu, memory] : {std::tuple("systemd", 1, 0.3, 12.0),
                                                 {"java", 700, 30.0, 2500.0},
                                                 {"postgres", 801, 8.0, 300.0},
                                                 {"postgres", 802, 6.0, 280.0},
                                                 {"nginx", 900, 4.0, 60.0},
                                                 {"python3", 950, 10.0, 150.0},
                                                 {"cron", 990, 0.1, 5.0}})
      add_process(name, pid, cpu, memory, {});
    store.add("jvm.gc.time", process("java", 700), noise.series(1, 0.5, 0.3, 0.02, 5));
    exits("sh", "cron", 0);
  }
  // Events: a window without one has no sample.
  void exits(const std::string &name, const std::string &parent, double per_window) {
    Values values;
    for (int second = kStep; second <= kEnd; second += kStep) {
      const double count = noise.uniform(0, 1) < 0.05 ? 2 : 0, more = second > kLength ? per_window : 0;
      if (count + more > 0) values.emplace_back(second, count + more);
    }
    store.add("proc.exits", {{"host", "h"}, {"process", name}, {"parent", parent}}, values);
  }
};

}  // namespace atalaya::explain::test
