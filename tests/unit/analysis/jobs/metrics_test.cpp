// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tests/unit/analysis/jobs/four_nodes.h"

namespace atalaya::bottleneck::test {
namespace {

TEST_CASE("findings that would cost too much stay without a reason, and none costs the next one anything") {
  MemoryStore store;
  add_usual(store);
  add_metric(store, "sys.disk.write.mb", 147.74, {{"GD43", 115.35}}, {{"disk", "sda"}});
  Spans spans;
  add_tasks(spans, "spill", "GD43", 0.7);
  query::Budget small({.points = 1000});
  const jobs::Analysis all = analyse(spans.take(), {}, store, small);
  CHECK(only_finding(all).reason == jobs::Reason::none);
  CHECK(only_finding(all).summary == "spill of map tasks is slow on node GD43: the search for the reason exceeds the limits");
  REQUIRE(all.notes.size() == 1);
  CHECK(all.notes[0].starts_with("node GD43, job \"j\", stage \"map\": not all metrics were read: "));
  // The metrics that one finding needs are enough for any number of findings.
  query::Budget enough({.points = 60'000});
  const std::vector<jobs::Window> windows = {{"GD43", kT0, kT0 + 60 * kSecond}, {"GD44", kT0, kT0 + 60 * kSecond}};
  for (int i = 0; i < 100; ++i) CHECK(jobs::Metrics::read({windows}, {}, store, enough).has("sys.disk.write.mb"));
}

// Counts the queries.
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
  const auto add_spans = [](Spans &spans) {
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
  add_spans(spans);
  const jobs::Analysis all = analysed(spans, store);
  REQUIRE(all.findings.size() == 2);
  CHECK(store.scans == 1);
  for (const jobs::Finding &finding : all.findings) CHECK(finding.reason == jobs::Reason::disk);
  Spans again;
  add_spans(again);
  query::Budget budget({.points = 18'000});
  const jobs::Analysis apart = analyse(again.take(), {}, store, budget);
  CHECK(store.scans == 3);
  CHECK(apart.notes.empty());
  for (const jobs::Finding &finding : apart.findings) CHECK(finding.reason == jobs::Reason::disk);
}

TEST_CASE("a short window in a long job has its own time only") {
  MemoryStore store;
  query::test::Values values;
  for (int second = 1; second <= 36'000; ++second) values.emplace_back(second, second % 60 == 7 || second % 60 == 8 ? 90 : 10);
  store.add("sys.cpu.usage", {{"host", "h"}, {"core", "0"}}, values);
  jobs::Windows windows;
  for (int minute = 0; minute < 600; ++minute)
    windows.push_back({"h", kT0 + (60 * minute + 6) * kSecond, kT0 + (60 * minute + 8) * kSecond});
  query::Budget budget({.points = 20'000});
  const jobs::Metrics metrics = jobs::Metrics::read({windows}, {}, store, budget);
  CHECK(metrics.mean("sys.cpu.usage", windows) == doctest::Approx(90));
  CHECK(metrics.mean("sys.cpu.usage", windows.front()) == doctest::Approx(90));
  // One of no length next to another set's.
  store.add("proc.cpu.user", {{"host", "h"}, {"process", "p"}, {"pid", "1"}}, {{7, 50}, {8, 50}});
  const jobs::Metrics two = jobs::Metrics::read({windows, {{"h", kT0 + 7 * kSecond, kT0 + 7 * kSecond}}}, {}, store, budget);
  CHECK(two.programs(0).at(0).cpu == doctest::Approx(50 / 600.0));
  CHECK(two.programs(1).at(0).cpu == 0);
  // More borders than there may be.
  jobs::Windows many;
  for (int i = 0; i < 30'000; ++i) many.push_back({"h", kT0 + i * kSecond, kT0 + i * kSecond + kSecond / 2});
  CHECK(jobs::Metrics::read({many}, {}, store, budget).mean("sys.cpu.usage", many) ==
        doctest::Approx(10 + 80 / 30.0).epsilon(0.02));
}

TEST_CASE("a phase in several spans is measured in these spans, not in the gaps between them") {
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
  const jobs::Analysis all = analysed(spans, store);
  const jobs::Finding &finding = only_finding(all);
  CHECK(all.data.name(finding.phase) == "spill");
  CHECK(finding.reason == jobs::Reason::disk);
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
  const jobs::Analysis all = analysed(spans, store);
  const jobs::Finding &finding = only_finding(all);
  CHECK(finding.index == "ipc");
  CHECK(finding.metrics.all[0].name == "sys.counters.cache.misses");
  CHECK(finding.metrics.all[0].correlation == doctest::Approx(-1));
  for (const jobs::Coefficient &one : finding.metrics.all) CHECK(one.name != "sys.counters.ipc");
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
  const jobs::Analysis all = analysed(spans, store);
  const jobs::Finding &finding = only_finding(all);
  CHECK(finding.index == "ipc");
  const std::vector<jobs::Coefficient> &metrics = finding.metrics.all;
  REQUIRE(metrics.size() > 3);
  CHECK(metrics[0].name == "sys.counters.cache.misses");
  CHECK(metrics[0].correlation < -0.8);
  CHECK(metrics[1].name == "sys.counters.branches.misses");
  CHECK(metrics[1].correlation < 0);
  CHECK(finding.leading == jobs::Resource::cpu);
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
  const jobs::Window window{"h", kT0, kT0 + 2 * kSecond};
  const jobs::Metrics metrics = jobs::Metrics::read({{window}}, {}, store, budget);
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
  CHECK(jobs::Metrics::read({{{"GD43", kT0, kT0 + 60 * kSecond}}}, {}, store, budget).ipc_sample_ns() == kSecond);
  store.duration_ns = 1;  // foreign samples may have any length
  Spans spans;
  add_tasks(spans, "spill", "GD43", 0.7);
  CHECK(analysed(spans, store).findings.size() == 1);  // in the time of an ordinary test
}

TEST_CASE("of disks and interfaces that stand on others only the lowest of each host count") {
  MemoryStore store;
  const auto add = [&](const std::string &metric, const std::string &tag, const std::string &host, const std::string &name,
                       double value) {
    store.add(metric, {{"host", host}, {tag, name}}, {{1, value}, {2, value}});
  };
  // a: LVM and RAID on two disks, a bond of two interfaces below a VLAN and a bridge.
  for (const char *disk : {"sda", "sdb"}) add("sys.disk.write.mb", "disk", "a", disk, 50);
  for (const char *disk : {"md0", "dm-0", "zd16"}) add("sys.disk.write.mb", "disk", "a", disk, 100);
  add("sys.disk.write.await", "disk", "a", "sda", 4);
  add("sys.disk.write.await", "disk", "a", "dm-0", 40);
  for (const char *interface : {"eth0", "eth1"}) add("sys.net.in.mb", "interface", "a", interface, 200);
  for (const char *interface : {"bond0", "bond0.12", "br0", "br-5f2e", "docker0", "veth12ab", "lo", "lxc4f1a", "cilium_host",
                                "podman0", "vmbr0", "lxdbr0", "wg0", "ovs-system", "macvtap0"})
    add("sys.net.in.mb", "interface", "a", interface, 400);
  // b: neither.
  add("sys.disk.write.mb", "disk", "b", "nvme0n1", 100);
  add("sys.net.in.mb", "interface", "b", "enp3s0", 400);
  // c: nothing is reported for the lowest.
  for (const char *disk : {"dm-0", "dm-1"}) add("sys.disk.write.mb", "disk", "c", disk, 50);
  add("sys.disk.write.mb", "disk", "c", "zram0", 0);
  add("sys.net.in.mb", "interface", "c", "bond0", 400);
  add("sys.net.in.mb", "interface", "c", "lo", 9000);
  query::Budget budget({});
  jobs::Windows windows;
  for (const char *host : {"a", "b", "c"}) windows.push_back({host, kT0, kT0 + 2 * kSecond});
  const jobs::Metrics metrics = jobs::Metrics::read({windows}, {}, store, budget);
  for (const jobs::Window &window : windows) {
    CAPTURE(window.host);
    CHECK(metrics.mean("sys.disk.write.mb", window) == doctest::Approx(100));
    CHECK(metrics.mean("sys.net.in.mb", window) == doctest::Approx(400));
  }
  CHECK(metrics.mean("sys.disk.write.await", windows[0]) == doctest::Approx(4));
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
  const jobs::Window window{"h", kT0 + kSecond, kT0 + 3 * kSecond}, part{"h", kT0 + kSecond / 2, kT0 + 3 * kSecond / 2};
  const jobs::Metrics metrics = jobs::Metrics::read({{window, part}}, {}, store, budget);
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

}  // namespace
}  // namespace atalaya::bottleneck::test
