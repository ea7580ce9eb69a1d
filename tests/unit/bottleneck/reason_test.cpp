// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tests/unit/bottleneck/jobs.h"

namespace atalaya::bottleneck::test {
namespace {

using query::test::MemoryStore;

constexpr int64_t kMebi = 1 << 20;
constexpr int kWaves = 6, kLength = 10;
const std::vector<std::string> kHosts = {"GD41", "GD42", "GD43", "GD44"};

// A phase of a task after the other on each host, ten seconds each, a little up and down; on `slow` it has less bytes.
void add_tasks(Spans &spans, const std::string &phase, const std::string &slow, double of_usual,
               const std::map<std::string, double> &remote = {}) {
  for (int wave = 0; wave < kWaves; ++wave) {
    for (const std::string &host : kHosts) {
      const double up_and_down = 1 + 0.03 * ((wave * 7 + static_cast<int>(host.back())) % 5 - 2);
      const auto bytes = static_cast<int64_t>((host == slow ? of_usual : 1) * up_and_down * 1000 * kMebi);
      const Tags task = Spans::task("map", "m" + std::to_string(wave) + host, host);
      Counts counts = {{"span.bytes", bytes}, {"span.outcome", 0}};
      if (remote.contains(host))
        counts.emplace_back("span.bytes.remote", static_cast<int64_t>(static_cast<double>(bytes) * remote.at(host)));
      spans.add("task", task, wave * kLength, kLength, counts);
      spans.add("phase", Spans::with(task, "phase", phase), wave * kLength, kLength, {{"span.bytes", bytes}});
    }
  }
}

// A value a second on each host; those named have another one.
void add_metric(MemoryStore &store, const std::string &metric, double usual, const std::map<std::string, double> &others = {},
                Tags tags = {}) {
  for (const std::string &host : kHosts) {
    query::test::Values values;
    for (int second = 1; second <= kWaves * kLength; ++second) {
      const double up_and_down =
          1 + 0.01 * ((second * 3 + static_cast<int>(metric.size() + static_cast<size_t>(host.back()))) % 7 - 3);
      values.emplace_back(second, (others.contains(host) ? others.at(host) : usual) * up_and_down);
    }
    tags["host"] = host;
    store.add(metric, tags, values);
  }
}

// Nothing wrong.
void add_usual(MemoryStore &store) {
  add_metric(store, "sys.cpu.usage", 40, {}, {{"core", "0"}});
  add_metric(store, "sys.cpu.usage", 44, {}, {{"core", "1"}});
  add_metric(store, "sys.mem.free", 500);
  add_metric(store, "sys.swap.in.bytes", 0);
  add_metric(store, "sys.mem.total", 4096);
  add_metric(store, "proc.cpu.user", 60, {}, {{"process", "java"}, {"pid", "7"}});
  add_metric(store, "sys.net.in.mb", 20, {}, {{"interface", "eth0"}});
  add_metric(store, "sys.net.in.mb", 9000, {{"GD43", 1}}, {{"interface", "lo"}});
}

const Finding &only_finding(const Analysis &all) {
  REQUIRE(all.findings.size() == 1);
  return all.findings[0];
}

TEST_CASE("a worn disk: the published case of GD43") {
  MemoryStore store;
  add_usual(store);
  add_metric(store, "sys.disk.write.mb", 147.74, {{"GD43", 115.35}}, {{"disk", "sda"}});
  Spans spans;
  add_tasks(spans, "spill", "GD43", 0.7);
  const Analysis all = analysed(spans, store);
  const Finding &finding = only_finding(all);
  CHECK(finding.reason == Reason::disk);
  CHECK(finding.summary ==
        "spill of map tasks is slow on node GD43: disk write 22 % below the other nodes; CPU, other programs, memory, remote reads "
        "and "
        "network ruled out; nothing is known of garbage collection");
  CHECK(finding.checks[5].text.starts_with("disk write 115 MiB/s, 148 MiB/s on the other nodes"));
  CHECK(finding.index == "dps");
  REQUIRE(finding.metrics.leading > 0);
  CHECK(finding.metrics.all[0].name == "sys.disk.write.mb");
  CHECK(finding.metrics.all[0].correlation > 0.9);
  CHECK(finding.leading == Resource::disk);
}

TEST_CASE("remote reads: the published case of GD41") {
  MemoryStore store;
  add_usual(store);
  add_metric(store, "sys.net.in.packets", 100, {{"GD41", 9000}}, {{"interface", "eth0"}});
  add_metric(store, "sys.net.out.packets", 100, {{"GD41", 7000}}, {{"interface", "eth0"}});
  add_metric(store, "sys.net.out.mb", 2, {{"GD41", 30}}, {{"interface", "eth0"}});
  add_metric(store, "sys.disk.read.mb", 80, {{"GD41", 50}}, {{"disk", "sda"}});
  Spans spans;
  add_tasks(spans, "read", "GD41", 0.6, {{"GD41", 0.313}, {"GD42", 0.02}, {"GD43", 0.02}, {"GD44", 0.02}});
  const Analysis all = analysed(spans, store);
  const Finding &finding = only_finding(all);
  CHECK(finding.reason == Reason::remote_reads);
  CHECK(finding.summary.starts_with(
      "read of map tasks is slow on node GD41: remote reads, 31 % of the bytes came over the network, 2.0 % "
      "on the other nodes; CPU, other programs, memory"));
  CHECK(finding.leading == Resource::network);
  CHECK(all.nodes[0].remote_share() == doctest::Approx(0.313));
}

TEST_CASE("another program beside the tasks") {
  MemoryStore store;
  add_metric(store, "sys.cpu.usage", 40, {{"GD42", 98}}, {{"core", "0"}});
  add_metric(store, "proc.cpu.user", 60, {{"GD42", 30}}, {{"process", "java"}, {"pid", "7"}});
  add_metric(store, "sys.disk.read.mb", 80, {{"GD42", 40}}, {{"disk", "sda"}});
  query::test::Values hog;
  for (int second = 1; second <= kWaves * kLength; ++second) hog.emplace_back(second, 160);
  store.add("proc.cpu.user", {{"host", "GD42"}, {"process", "stress"}, {"pid", "9"}}, hog);
  Spans spans;
  add_tasks(spans, "collect", "GD42", 0.5);
  const Analysis all = analysed(spans, store);
  CHECK(only_finding(all).reason == Reason::programs);
  CHECK(only_finding(all).summary.starts_with(
      "collect of map tasks is slow on node GD42: another program, \"stress\" uses 160 % of a core, 0 % on the other nodes; "));
  CHECK(only_finding(all).summary.find("disk ruled out") != std::string::npos);  // collect waits for none
}

// On GD43 only.
void add_program(MemoryStore &store, const std::string &name, double cpu, double disk = 0) {
  query::test::Values cpus, disks;
  for (int second = 1; second <= kWaves * kLength; ++second) {
    cpus.emplace_back(second, cpu);
    disks.emplace_back(second, disk);
  }
  store.add("proc.cpu.user", {{"host", "GD43"}, {"process", name}, {"pid", "9"}}, cpus);
  store.add("proc.disk.writes.mb", {{"host", "GD43"}, {"process", name}, {"pid", "9"}}, disks);
}

TEST_CASE("a program that takes nothing away from the tasks does not hide a worn disk") {
  MemoryStore store;
  add_usual(store);
  add_metric(store, "sys.disk.write.mb", 147.74, {{"GD43", 115.35}}, {{"disk", "sda"}});
  add_program(store, "driver", 25, 2);
  Spans spans;
  add_tasks(spans, "spill", "GD43", 0.7);
  const Analysis all = analysed(spans, store);
  CHECK(only_finding(all).reason == Reason::disk);
  CHECK(only_finding(all).checks[1].verdict == Verdict::ruled_out);
  CHECK(only_finding(all).checks[1].text ==
        "\"driver\" uses 25 % of a core, 0 % on the other nodes (but there is CPU left); \"driver\" reads and writes 2 MiB/s, 0 "
        "MiB/s "
        "on the other nodes (but little of what its disks move)");
}

TEST_CASE("what a program may use is a part of the node's cores and disks, and must be short there") {
  const struct {
    int cores;
    double cpu, disk;
    const char *metric;
    double usual, here;
    Reason reason;
  } cases[] = {{64, 300, 0, "sys.pressure.cpu.some.stall", 5, 40, Reason::cpu},       // 5 % of the cores
               {64, 900, 0, "sys.pressure.cpu.some.stall", 5, 40, Reason::programs},  // 14 %
               {64, 900, 0, "sys.pressure.cpu.some.stall", 5, 5, Reason::none},       // nobody waits
               {1, 25, 0, "cgroup.cpu.throttled.time", 600, 610, Reason::programs},   // a small node at its limit, as all are
               {1, 25, 0, "proc.cpu.delay", 10, 60, Reason::programs},                // the tasks wait for a CPU
               {2, 0, 90, "sys.pressure.io.some.stall", 5, 60, Reason::programs},     // most of what the disk moves
               {2, 0, 90, "sys.disk.write.await", 5, 5, Reason::none}};               // the disk keeps up
  for (const auto &one : cases) {
    CAPTURE(one.cores);
    CAPTURE(one.metric);
    MemoryStore store;
    for (int core = 0; core < one.cores; ++core) add_metric(store, "sys.cpu.usage", 40, {}, {{"core", std::to_string(core)}});
    add_metric(store, "sys.disk.write.mb", 140, {}, {{"disk", "sda"}});
    add_metric(store, "proc.cpu.user", 60, {}, {{"process", "java"}, {"pid", "7"}});
    add_metric(store, one.metric, one.usual, {{"GD43", one.here}}, {{"process", "java"}, {"pid", "7"}});
    add_program(store, "backup", one.cpu, one.disk);
    Spans spans;
    add_tasks(spans, "map", "GD43", 0.5);
    CHECK(only_finding(analysed(spans, store)).reason == one.reason);
  }
}

TEST_CASE("phases that histories tell hold what no other phase is named for") {
  CHECK(needs_of("map", {"map", "merge"}).input);
  CHECK(needs_of("map", {"map", "merge"}).reads);
  CHECK(needs_of("map", {"map", "merge"}).writes);
  CHECK_FALSE(needs_of("map", {"read", "map", "spill"}).input);
  CHECK_FALSE(needs_of("map", {"read", "map", "spill"}).writes);
  CHECK(needs_of("compute", {"shuffle-read", "compute", "shuffle-write", "result-fetch"}).input);
  CHECK(needs_of("reduce", {"shuffle", "sort", "reduce"}).writes);
  CHECK_FALSE(needs_of("reduce", {"shuffle", "reduce", "write"}).writes);
  CHECK_FALSE(needs_of("result-fetch").input);

  MemoryStore remote;
  add_usual(remote);
  Spans reading;
  add_tasks(reading, "map", "GD41", 0.6, {{"GD41", 1}, {"GD42", 0}, {"GD43", 0}, {"GD44", 0}});
  CHECK(only_finding(analysed(reading, remote)).reason == Reason::remote_reads);

  MemoryStore worn;
  add_usual(worn);
  add_metric(worn, "sys.disk.write.mb", 147.74, {{"GD43", 115.35}}, {{"disk", "sda"}});
  Spans writing;
  add_tasks(writing, "map", "GD43", 0.7);
  CHECK(only_finding(analysed(writing, worn)).reason == Reason::disk);
}

TEST_CASE("remote reads are not ruled out by a phase's name where the shares differ, and do not hide what it waits for") {
  const std::map<std::string, double> shares = {{"GD43", 0.4}, {"GD41", 0.02}, {"GD42", 0.02}, {"GD44", 0.02}};
  MemoryStore store;
  add_usual(store);
  Spans spans;
  add_tasks(spans, "spill", "GD43", 0.7, shares);
  CHECK(only_finding(analysed(spans, store)).reason == Reason::remote_reads);
  add_metric(store, "sys.disk.write.mb", 147.74, {{"GD43", 115.35}}, {{"disk", "sda"}});
  Spans again;
  add_tasks(again, "spill", "GD43", 0.7, shares);
  CHECK(only_finding(analysed(again, store)).reason == Reason::disk);
}

TEST_CASE("a low rate of a disk that answers as fast as the others is not its fault") {
  MemoryStore store;
  add_usual(store);
  add_metric(store, "sys.disk.write.mb", 147.74, {{"GD43", 90}}, {{"disk", "sda"}});
  add_metric(store, "sys.disk.write.await", 4, {}, {{"disk", "sda"}});
  Spans spans;
  add_tasks(spans, "spill", "GD43", 0.7);
  CHECK(only_finding(analysed(spans, store)).reason == Reason::none);
}

TEST_CASE("what is read over a network that brings less is not slow by its disks") {
  const auto reason = [](double received, double received_here) {
    MemoryStore store;
    add_metric(store, "sys.net.in.mb", received, {{"GD41", received_here}}, {{"interface", "eth0"}});
    add_metric(store, "sys.disk.read.mb", 10, {{"GD41", 5}}, {{"disk", "sda"}});
    Spans spans;
    add_tasks(spans, "read", "GD41", 0.5);
    return only_finding(analysed(spans, store)).reason;
  };
  CHECK(reason(800, 400) == Reason::network);
  CHECK(reason(20, 10) == Reason::disk);  // that is hardly what the tasks read
}

TEST_CASE("findings that would cost too much stay without a reason, and none costs the next one anything") {
  MemoryStore store;
  add_usual(store);
  add_metric(store, "sys.disk.write.mb", 147.74, {{"GD43", 115.35}}, {{"disk", "sda"}});
  Spans spans;
  add_tasks(spans, "spill", "GD43", 0.7);
  query::Budget small({.points = 1000});
  const Analysis all = analyse(spans.take(), {}, store, small);
  CHECK(only_finding(all).reason == Reason::none);
  CHECK(only_finding(all).summary == "spill of map tasks is slow on node GD43: to look for the reason costs more than is allowed");
  REQUIRE(all.notes.size() == 1);
  CHECK(all.notes[0].starts_with("node GD43, job \"j\", stage \"map\": not all metrics were looked at: "));
  // What one finding needs is enough for any number of them.
  query::Budget enough({.points = 60'000});
  const std::vector<Window> windows = {{"GD43", kT0, kT0 + 60 * kSecond}, {"GD44", kT0, kT0 + 60 * kSecond}};
  for (int i = 0; i < 100; ++i) CHECK(Metrics::read({windows}, {}, store, enough).has("sys.disk.write.mb"));
}

// Counts how often it is asked.
class AskedStore : public MemoryStore {
 public:
  void scan(std::span<const store::Series> series, const store::Range &range, store::PointVisitor &visitor) override {
    ++scans;
    MemoryStore::scan(series, range, visitor);
  }
  size_t scans = 0;
};

TEST_CASE("metrics are read once for all findings of a job, and one by one where that is too much") {
  AskedStore store;
  add_usual(store);
  add_metric(store, "sys.disk.write.mb", 147.74, {{"GD43", 115.35}}, {{"disk", "sda"}});
  const auto tell = [](Spans &spans) {
    for (const char *stage : {"one", "two"})
      for (int i = 0; i < 24; ++i) {
        const std::string &host = kHosts[static_cast<size_t>(i) % 4];
        const int wave = i / 4;
        const double begin = 5.0 * wave + (std::string(stage) == "two" ? 30 : 0), length = host == "GD43" ? 4.5 : 2.5;
        const Tags task = Spans::task(stage, stage + std::to_string(i), host);
        spans.add("task", task, begin, length, {{"span.bytes", (1000 + i % 3) * kMebi}, {"span.outcome", 0}});
        spans.add("phase", Spans::with(task, "phase", "spill"), begin, length, {{"span.bytes", (1000 + i % 3) * kMebi}});
      }
  };
  Spans spans;
  tell(spans);
  const Analysis all = analysed(spans, store);
  REQUIRE(all.findings.size() == 2);
  CHECK(store.scans == 1);
  for (const Finding &finding : all.findings) CHECK(finding.reason == Reason::disk);
  Spans again;
  tell(again);
  query::Budget budget({.points = 18'000});
  const Analysis apart = analyse(again.take(), {}, store, budget);
  CHECK(store.scans == 3);
  CHECK(apart.notes.empty());
  for (const Finding &finding : apart.findings) CHECK(finding.reason == Reason::disk);
}

TEST_CASE("a short window in a long job has its own time only") {
  MemoryStore store;
  query::test::Values values;
  for (int second = 1; second <= 36'000; ++second) values.emplace_back(second, second % 60 == 7 || second % 60 == 8 ? 90 : 10);
  store.add("sys.cpu.usage", {{"host", "h"}, {"core", "0"}}, values);
  Windows windows;
  for (int minute = 0; minute < 600; ++minute)
    windows.push_back({"h", kT0 + (60 * minute + 6) * kSecond, kT0 + (60 * minute + 8) * kSecond});
  query::Budget budget({.points = 20'000});
  const Metrics metrics = Metrics::read({windows}, {}, store, budget);
  CHECK(metrics.mean("sys.cpu.usage", windows) == doctest::Approx(90));
  CHECK(metrics.mean("sys.cpu.usage", windows.front()) == doctest::Approx(90));
  // One of no length beside another set's.
  store.add("proc.cpu.user", {{"host", "h"}, {"process", "p"}, {"pid", "1"}}, {{7, 50}, {8, 50}});
  const Metrics two = Metrics::read({windows, {{"h", kT0 + 7 * kSecond, kT0 + 7 * kSecond}}}, {}, store, budget);
  CHECK(two.programs(0).at(0).cpu == doctest::Approx(50 / 600.0));
  CHECK(two.programs(1).at(0).cpu == 0);
  // More borders than there may be.
  Windows many;
  for (int i = 0; i < 30'000; ++i) many.push_back({"h", kT0 + i * kSecond, kT0 + i * kSecond + kSecond / 2});
  CHECK(Metrics::read({many}, {}, store, budget).mean("sys.cpu.usage", many) == doctest::Approx(10 + 80 / 30.0).epsilon(0.02));
}

TEST_CASE("a phase in several spans is measured in these, not in what lies between") {
  MemoryStore store;
  std::map<std::string, query::test::Values> values;
  Spans spans;
  for (int wave = 0; wave < kWaves; ++wave) {
    for (const std::string &host : kHosts) {
      const double factor = host == "GD43" ? 1.5 : 1;
      const Tags task = Spans::task("map", "m" + std::to_string(wave) + host, host);
      const double begin = wave * kLength, up_and_down = 1 + 0.02 * ((wave + host.back()) % 3);
      for (const double at : {1.0, 7.0})
        spans.add("phase", Spans::with(task, "phase", "spill"), begin + at, factor * up_and_down, {{"span.bytes", 100 * kMebi}});
      spans.add("task", task, begin, kLength, {{"span.bytes", 1000 * kMebi}, {"span.outcome", 0}});
      // Only in the later spill it is slow.
      for (int second = 1; second <= kLength; ++second)
        values[host].emplace_back(wave * kLength + second, second < 7 ? 100 : host == "GD43" ? 40 : 80);
    }
  }
  for (const std::string &host : kHosts) store.add("sys.disk.write.mb", {{"host", host}, {"disk", "sda"}}, values[host]);
  const Analysis all = analysed(spans, store);
  const Finding &finding = only_finding(all);
  CHECK(all.told.name(finding.phase) == "spill");
  CHECK(finding.reason == Reason::disk);
}

TEST_CASE("programs whose names differ in a number are one") {
  MemoryStore store;
  add_usual(store);
  for (const std::string &host : kHosts) {
    query::test::Values values;
    for (int second = 1; second <= kWaves * kLength; ++second) values.emplace_back(second, 90);
    store.add("proc.cpu.user", {{"host", host}, {"process", "executor " + host.substr(3)}, {"pid", "8"}}, values);
  }
  Spans spans;
  add_tasks(spans, "map", "GD42", 0.5);
  const Analysis all = analysed(spans, store);
  CHECK(only_finding(all).reason == Reason::none);
  CHECK(only_finding(all).checks[1].verdict == Verdict::ruled_out);
  CHECK(only_finding(all).summary.find("what is known shows no reason; CPU, other programs") != std::string::npos);
}

TEST_CASE("a busy CPU without another program, a CPU that others have, and swapping") {
  const struct {
    const char *metric;
    double usual, slow;
    Reason reason;
  } cases[] = {{"sys.cpu.usage", 40, 97, Reason::cpu},
               {"sys.cpu.steal", 0, 30, Reason::cpu},
               {"cgroup.cpu.throttled.time", 0, 500, Reason::cpu},
               {"sys.swap.in.bytes", 0, 5e6, Reason::memory},
               {"sys.disk.write.await", 3, 40, Reason::disk},
               {"proc.net.tcp.retransmits", 0, 80, Reason::network}};
  for (const auto &one : cases) {
    MemoryStore store;
    add_metric(store, one.metric, one.usual, {{"GD44", one.slow}}, {{"process", "x"}, {"pid", "1"}});
    Spans spans;
    add_tasks(spans, "map", "GD44", 0.5);
    const Analysis all = analysed(spans, store);
    CHECK(only_finding(all).reason == one.reason);
  }
}

TEST_CASE("without metrics the node is named, and that no reason is known") {
  Spans spans;
  add_tasks(spans, "spill", "GD43", 0.7);
  MemoryStore store;
  const Analysis all = analysed(spans, store);
  const Finding &finding = only_finding(all);
  CHECK(finding.reason == Reason::none);
  CHECK(finding.index.empty());
  CHECK(finding.summary ==
        "spill of map tasks is slow on node GD43: what is known shows no reason; remote reads ruled out; nothing is known of CPU, "
        "other "
        "programs, garbage collection, memory, disk and network");
}

TEST_CASE("where instructions per cycle are known they are the index") {
  MemoryStore store;
  add_usual(store);
  query::test::Values ipc, misses;
  for (int second = 1; second <= kWaves * kLength; ++second) {
    const double miss = 10 + 5 * (second % 4);
    misses.emplace_back(second, miss);
    ipc.emplace_back(second, 2 - 0.05 * miss);
  }
  store.add("sys.counters.ipc", {{"host", "GD43"}}, ipc);
  store.add("sys.counters.cache.misses", {{"host", "GD43"}}, misses);
  Spans spans;
  add_tasks(spans, "spill", "GD43", 0.7);
  const Analysis all = analysed(spans, store);
  const Finding &finding = only_finding(all);
  CHECK(finding.index == "ipc");
  CHECK(finding.metrics.all[0].name == "sys.counters.cache.misses");
  CHECK(finding.metrics.all[0].correlation == doctest::Approx(-1));
  for (const Coefficient &one : finding.metrics.all) CHECK(one.name != "sys.counters.ipc");
}

TEST_CASE("of many counters those lead that go with the slow node's instructions per cycle") {
  MemoryStore store;
  add_usual(store);
  for (const std::string &host : kHosts) {
    const bool is_slow = host == "GD43";
    std::map<std::string, query::test::Values> series;
    for (int second = 1; second <= kWaves * kLength; ++second) {
      const double misses = 10 + 5 * (second * 5 % 13 % 4), branches = 100 + 7 * (second * 7 % 11 % 3);
      series["cache.misses"].emplace_back(second, misses);
      series["branches.misses"].emplace_back(second, branches);
      series["dtlb.misses"].emplace_back(second, 50 + second * 11 % 17 % 5);
      series["running"].emplace_back(second, 100);  // all the time
      // On healthy nodes they go together, on the slow one misses cost.
      series["ipc"].emplace_back(second, is_slow ? 5 - 0.05 * misses - 0.02 * branches : 2 + 0.05 * misses);
    }
    for (const auto &[name, values] : series) store.add("sys.counters." + name, {{"host", host}}, values);
  }
  Spans spans;
  add_tasks(spans, "map", "GD43", 0.7);
  const Analysis all = analysed(spans, store);
  const Finding &finding = only_finding(all);
  CHECK(finding.index == "ipc");
  const std::vector<Coefficient> &metrics = finding.metrics.all;
  REQUIRE(metrics.size() > 3);
  CHECK(metrics[0].name == "sys.counters.cache.misses");
  CHECK(metrics[0].correlation < -0.8);
  CHECK(metrics[1].name == "sys.counters.branches.misses");
  CHECK(metrics[1].correlation < 0);
  CHECK(finding.leading == Resource::cpu);
  double sum = 0, of_leading = 0;
  for (size_t i = 0; i < metrics.size(); ++i) {
    const double size = std::abs(metrics[i].correlation);
    sum += size;
    if (i < finding.metrics.leading) of_leading += size;
    CHECK(metrics[i].name != "sys.counters.ipc");
    CHECK(metrics[i].name != "sys.counters.running");  // it does not change
    CHECK(metrics[i].name != "sys.swap.in.bytes");
  }
  REQUIRE(finding.metrics.leading > 0);
  CHECK(of_leading >= 0.8 * sum);
  CHECK(of_leading - std::abs(metrics[finding.metrics.leading - 1].correlation) < 0.8 * sum);
}

TEST_CASE("instructions per cycle of a node are the mean of its cores'") {
  MemoryStore store;
  for (const char *core : {"0", "1"}) {
    const double base = core[0] == '0' ? 1 : 3;
    store.add("sys.counters.ipc", {{"host", "h"}, {"core", core}}, {{1, base}, {2, base}});
    store.add("sys.counters.cache.misses", {{"host", "h"}, {"core", core}}, {{1, 100 * base}, {2, 100 * base}});
  }
  query::Budget budget({});
  const Window window{"h", kT0, kT0 + 2 * kSecond};
  const Metrics metrics = Metrics::read({{window}}, {}, store, budget);
  CHECK(metrics.mean("sys.counters.ipc", window) == doctest::Approx(2));
  CHECK(metrics.mean("sys.counters.cache.misses", window) == doctest::Approx(400));
}

TEST_CASE("the step of instructions per cycle is their usual window, and rows are of all the time") {
  MemoryStore store;
  add_usual(store);
  query::test::Values ipc, misses;
  for (int second = 1; second <= kWaves * kLength; ++second) {
    misses.emplace_back(second, 10 + 5 * (second % 4));
    ipc.emplace_back(second, 2 - 0.05 * misses.back().second);
  }
  store.add("sys.counters.ipc", {{"host", "GD43"}}, ipc);
  store.add("sys.counters.cache.misses", {{"host", "GD43"}}, misses);
  query::Budget budget({});
  CHECK(Metrics::read({{{"GD43", kT0, kT0 + 60 * kSecond}}}, {}, store, budget).ipc_sample_ns() == kSecond);
  store.duration_ns = 1;  // foreign samples may have any length
  Spans spans;
  add_tasks(spans, "spill", "GD43", 0.7);
  CHECK(analysed(spans, store).findings.size() == 1);  // in the time of an ordinary test
}

TEST_CASE("metrics are averages over the window, however samples lie in it") {
  MemoryStore store;
  store.add("sys.cpu.usage", {{"host", "h"}, {"core", "0"}}, {{1, 10}, {2, 20}, {3, 30}, {4, 40}});
  store.add("sys.cpu.usage", {{"host", "h"}, {"core", "1"}}, {{1, 30}, {2, 40}, {3, 50}, {4, 60}});
  store.add("proc.cpu.user", {{"host", "h"}, {"process", "p1"}, {"pid", "1"}}, {{2, 5}, {3, 5}});
  store.add("proc.cpu.user", {{"host", "h"}, {"process", "p2"}, {"pid", "2"}}, {{2, 7}, {3, 7}});
  store.add("proc.exits", {{"host", "h"}}, {{2, 3}});
  store.add("self.files", {{"host", "h"}}, {{2, 3}});
  store.add("sys.cpu.usage", {{"host", "other"}}, {{2, 99}});
  query::Budget budget({});
  const Window window{"h", kT0 + kSecond, kT0 + 3 * kSecond}, part{"h", kT0 + kSecond / 2, kT0 + 3 * kSecond / 2};
  const Metrics metrics = Metrics::read({{window, part}}, {}, store, budget);
  CHECK(metrics.mean("sys.cpu.usage", window) == doctest::Approx(35));  // of (20 + 40) / 2 and (30 + 50) / 2
  CHECK(metrics.mean("sys.cpu.usage", part) == doctest::Approx(25));    // half of 20, half of 30
  CHECK(metrics.mean("proc.cpu.user", window) == doctest::Approx(12));  // the sum of both
  CHECK(metrics.mean("proc.exits", {"h", kT0 + kSecond, kT0 + 2 * kSecond}) == doctest::Approx(3));
  CHECK_FALSE(metrics.mean("proc.exits", {"h", kT0 + 2 * kSecond + kSecond / 10, kT0 + 3 * kSecond}));
  CHECK_FALSE(metrics.mean("self.files", window));
  CHECK_FALSE(metrics.mean("sys.cpu.usage", {"other", kT0, kT0 + kSecond}));
  CHECK(metrics.ipc_sample_ns() == 0);
  REQUIRE(metrics.programs(0).size() == 1);
  CHECK(metrics.programs(0)[0].name == "p#");
  // 12 % in two of the two and a half seconds of its windows.
  CHECK(metrics.programs(0)[0].cpu == doctest::Approx(12 * 2 / 2.5).epsilon(0.03));
}

TEST_CASE("metrics of a host by its short name are of the node by its full one, and that is said") {
  MemoryStore store;
  add_metric(store, "sys.cpu.usage", 40, {{"GD43", 97}}, {{"core", "0"}});
  Spans spans;
  for (int i = 0; i < 24; ++i) {
    const std::string &host = kHosts[static_cast<size_t>(i) % 4];
    spans.add("task", Spans::task("map", "m" + std::to_string(i), host + ".example.org"), i, host == "GD43" ? 20 : 10,
              {{"span.bytes", (1000 + i % 3) * kMebi}, {"span.outcome", 0}});
  }
  const Analysis all = analysed(spans, store);
  CHECK(only_finding(all).reason == Reason::cpu);
  REQUIRE(all.notes.size() == 1);
  CHECK(all.notes[0] ==
        "metrics: hosts with the same first label are taken for one: \"GD41\" for \"GD41.example.org\", \"GD42\" for "
        "\"GD42.example.org\", \"GD43\" for \"GD43.example.org\" and 1 more");
  // Another domain has a host of that name, too.
  store.add("sys.cpu.usage", {{"host", "GD43.example.com"}, {"core", "0"}}, {{1, 40}});
  Spans again;
  for (int i = 0; i < 24; ++i) {
    const std::string &host = kHosts[static_cast<size_t>(i) % 4];
    again.add("task", Spans::task("map", "m" + std::to_string(i), host + ".example.org"), i, host == "GD43" ? 20 : 10,
              {{"span.bytes", (1000 + i % 3) * kMebi}, {"span.outcome", 0}});
  }
  const Analysis unclear = analysed(again, store);
  CHECK(only_finding(unclear).reason == Reason::none);
  REQUIRE(unclear.notes.size() == 2);
  CHECK(unclear.notes[1].starts_with(
      "metrics: several hosts have the same first label, and which of them are one is not known: \"GD43.example.org\" or "));
}

TEST_CASE("numbers for people") {
  CHECK(short_text(0) == "0");
  CHECK(short_text(1234.5) == "1234");
  CHECK(short_text(147.74) == "148");
  CHECK(short_text(12.34) == "12.3");
  CHECK(short_text(9.5) == "9.5");
  CHECK(short_text(0.25) == "0.25");
  CHECK(short_text(-0.001) == "-0.001");
  CHECK(percent_text(0.22) == "22 %");
  CHECK(percent_text(0.05) == "5.0 %");
  CHECK(percent_text(0) == "0 %");
}

}  // namespace
}  // namespace atalaya::bottleneck::test
