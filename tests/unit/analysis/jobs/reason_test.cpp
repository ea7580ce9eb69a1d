// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/unit/analysis/jobs/four_nodes.h"

namespace atalaya::bottleneck::test {
namespace {

TEST_CASE("a worn disk: the published case of GD43") {
  MemoryStore store;
  add_usual(store);
  add_metric(store, "sys.disk.write.mb", 147.74, {{"GD43", 115.35}}, {{"disk", "sda"}});
  Spans spans;
  add_tasks(spans, "spill", "GD43", 0.7);
  const jobs::Analysis all = analysed(spans, store);
  const jobs::Finding &finding = only_finding(all);
  CHECK(finding.reason == jobs::Reason::disk);
  CHECK(finding.summary ==
        "spill of map tasks is slow on node GD43: disk write 22 % below the other nodes; CPU, other programs, memory, remote reads "
        "and "
        "network ruled out; no data about garbage collection");
  CHECK(finding.checks[5].text.starts_with("disk write 115 MiB/s, 148 MiB/s on the other nodes"));
  CHECK(finding.index == "dps");
  REQUIRE(finding.metrics.leading > 0);
  CHECK(finding.metrics.all[0].name == "sys.disk.write.mb");
  CHECK(finding.metrics.all[0].correlation > 0.9);
  CHECK(finding.leading == jobs::Resource::disk);
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
  const jobs::Analysis all = analysed(spans, store);
  const jobs::Finding &finding = only_finding(all);
  CHECK(finding.reason == jobs::Reason::remote_reads);
  CHECK(finding.summary.starts_with(
      "read of map tasks is slow on node GD41: remote reads, 31 % of the bytes came over the network, 2.0 % "
      "on the other nodes; CPU, other programs, memory"));
  CHECK(finding.leading == jobs::Resource::network);
  CHECK(all.nodes[0].remote_share() == doctest::Approx(0.313));
}

TEST_CASE("another program next to the tasks") {
  MemoryStore store;
  add_metric(store, "sys.cpu.usage", 40, {{"GD42", 98}}, {{"core", "0"}});
  add_metric(store, "proc.cpu.user", 60, {{"GD42", 30}}, {{"process", "java"}, {"pid", "7"}});
  add_metric(store, "sys.disk.read.mb", 80, {{"GD42", 40}}, {{"disk", "sda"}});
  query::test::Values hog;
  for (int second = 1; second <= kWaves * kLength; ++second) hog.emplace_back(second, 160);
  store.add("proc.cpu.user", {{"host", "GD42"}, {"process", "stress"}, {"pid", "9"}}, hog);
  Spans spans;
  add_tasks(spans, "collect", "GD42", 0.5);
  const jobs::Analysis all = analysed(spans, store);
  CHECK(only_finding(all).reason == jobs::Reason::programs);
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

TEST_CASE("a program that does not slow the tasks does not hide a worn disk") {
  MemoryStore store;
  add_usual(store);
  add_metric(store, "sys.disk.write.mb", 147.74, {{"GD43", 115.35}}, {{"disk", "sda"}});
  add_program(store, "driver", 25, 2);
  Spans spans;
  add_tasks(spans, "spill", "GD43", 0.7);
  const jobs::Analysis all = analysed(spans, store);
  CHECK(only_finding(all).reason == jobs::Reason::disk);
  CHECK(only_finding(all).checks[1].verdict == jobs::Verdict::ruled_out);
  CHECK(only_finding(all).checks[1].text ==
        "\"driver\" uses 25 % of a core, 0 % on the other nodes (but CPU is available); \"driver\" reads and writes 2 MiB/s, 0 "
        "MiB/s "
        "on the other nodes (but a small part of the traffic of its disks)");
}

TEST_CASE("a program may use a part of the node's cores and disks, and they must be short") {
  const struct {
    int cores;
    double cpu, disk;
    const char *metric;
    double usual, here;
    jobs::Reason reason;
  } cases[] = {{64, 300, 0, "sys.pressure.cpu.some.stall", 5, 40, jobs::Reason::cpu},       // 5 % of the cores
               {64, 900, 0, "sys.pressure.cpu.some.stall", 5, 40, jobs::Reason::programs},  // 14 %
               {64, 900, 0, "sys.pressure.cpu.some.stall", 5, 5, jobs::Reason::none},       // no task waits
               {1, 25, 0, "cgroup.cpu.throttled.time", 600, 610, jobs::Reason::programs},   // a small node at its limit, as all are
               {1, 25, 0, "proc.cpu.delay", 10, 60, jobs::Reason::programs},                // the tasks wait for a CPU
               {2, 0, 90, "sys.pressure.io.some.stall", 5, 60, jobs::Reason::programs},     // most of the disk's traffic
               {2, 0, 90, "sys.disk.write.await", 5, 5, jobs::Reason::none}};               // the disk keeps up
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

TEST_CASE("phases from histories cover work that no other phase is named for") {
  CHECK(jobs::needs_of("map", {"map", "merge"}).input);
  CHECK(jobs::needs_of("map", {"map", "merge"}).reads);
  CHECK(jobs::needs_of("map", {"map", "merge"}).writes);
  CHECK_FALSE(jobs::needs_of("map", {"read", "map", "spill"}).input);
  CHECK_FALSE(jobs::needs_of("map", {"read", "map", "spill"}).writes);
  CHECK(jobs::needs_of("compute", {"shuffle-read", "compute", "shuffle-write", "result-fetch"}).input);
  CHECK(jobs::needs_of("reduce", {"shuffle", "sort", "reduce"}).writes);
  CHECK_FALSE(jobs::needs_of("reduce", {"shuffle", "reduce", "write"}).writes);
  CHECK_FALSE(jobs::needs_of("result-fetch").input);

  MemoryStore remote;
  add_usual(remote);
  Spans reading;
  add_tasks(reading, "map", "GD41", 0.6, {{"GD41", 1}, {"GD42", 0}, {"GD43", 0}, {"GD44", 0}});
  CHECK(only_finding(analysed(reading, remote)).reason == jobs::Reason::remote_reads);

  MemoryStore worn;
  add_usual(worn);
  add_metric(worn, "sys.disk.write.mb", 147.74, {{"GD43", 115.35}}, {{"disk", "sda"}});
  Spans writing;
  add_tasks(writing, "map", "GD43", 0.7);
  CHECK(only_finding(analysed(writing, worn)).reason == jobs::Reason::disk);
}

TEST_CASE("a phase that reads no input is not slow because of remote reads") {
  const std::map<std::string, double> shares = {{"GD43", 0.4}, {"GD41", 0.02}, {"GD42", 0.02}, {"GD44", 0.02}};
  MemoryStore store;
  add_usual(store);
  Spans spans;
  add_tasks(spans, "spill", "GD43", 0.7, shares);
  CHECK(only_finding(analysed(spans, store)).reason == jobs::Reason::none);
  add_metric(store, "sys.disk.write.mb", 147.74, {{"GD43", 115.35}}, {{"disk", "sda"}});
  Spans again;
  add_tasks(again, "spill", "GD43", 0.7, shares);
  CHECK(only_finding(analysed(again, store)).reason == jobs::Reason::disk);
}

TEST_CASE("remote reads are the reason only beyond chance, and if remote tasks are slower than local ones") {
  // Of GD43's twelve tasks, all slow, some read over the network; of the others' 36 tasks, three do.
  const auto reason = [](int remote, double cost) {
    Spans spans;
    for (int i = 0; i < 48; ++i) {
      const std::string &host = kHosts[static_cast<size_t>(i) % 4];
      const bool is_slow = host == "GD43", is_remote = is_slow ? i / 4 < remote : i / 4 == 0;
      const Tags task = Spans::task("map", "m" + std::to_string(i), host);
      const double time = (10 + 0.1 * (i * 7 % 10)) * (is_slow ? 1.8 : 1) * (is_remote ? cost : 1);
      spans.add("task", task, 40 * (i / 4), time,
                {{"span.bytes", 1000 * kMebi}, {"span.bytes.remote", is_remote ? 1000 * kMebi : 0}, {"span.outcome", 0}});
    }
    MemoryStore store;
    return only_finding(analysed(spans, store)).reason;
  };
  CHECK(reason(3, 1.15) == jobs::Reason::none);  // by chance
  CHECK(reason(8, 1) == jobs::Reason::none);     // without effect
  CHECK(reason(8, 2) == jobs::Reason::remote_reads);
}

TEST_CASE("a low rate of a disk that answers as fast as the others is not its fault") {
  MemoryStore store;
  add_usual(store);
  add_metric(store, "sys.disk.write.mb", 147.74, {{"GD43", 90}}, {{"disk", "sda"}});
  add_metric(store, "sys.disk.write.await", 4, {}, {{"disk", "sda"}});
  Spans spans;
  add_tasks(spans, "spill", "GD43", 0.7);
  CHECK(only_finding(analysed(spans, store)).reason == jobs::Reason::none);
}

TEST_CASE("disks are not the reason when a slower network limits the reads") {
  const auto reason = [](double received, double received_here) {
    MemoryStore store;
    add_metric(store, "sys.net.in.mb", received, {{"GD41", received_here}}, {{"interface", "eth0"}});
    add_metric(store, "sys.disk.read.mb", 10, {{"GD41", 5}}, {{"disk", "sda"}});
    Spans spans;
    add_tasks(spans, "read", "GD41", 0.5);
    return only_finding(analysed(spans, store)).reason;
  };
  CHECK(reason(800, 400) == jobs::Reason::network);
  CHECK(reason(20, 10) == jobs::Reason::disk);  // hardly more than the tasks read
}

TEST_CASE("a node without LVM or a bond among nodes that have them moves no less") {
  for (const bool of_disks : {true, false}) {
    MemoryStore store;
    const std::string metric = of_disks ? "sys.disk.write.mb" : "sys.net.in.mb", tag = of_disks ? "disk" : "interface";
    add_metric(store, metric, 147, {}, {{tag, of_disks ? "sda" : "eth0"}});
    for (const std::string &host : kHosts) {
      if (host == "GD43") continue;
      query::test::Values values;
      for (int second = 1; second <= kWaves * kLength; ++second) values.emplace_back(second, 147);
      store.add(metric, {{"host", host}, {tag, of_disks ? "dm-0" : "bond0"}}, values);
    }
    Spans spans;
    add_tasks(spans, of_disks ? "spill" : "shuffle", "GD43", 0.7);
    CHECK(only_finding(analysed(spans, store)).reason == jobs::Reason::none);
  }
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
  const jobs::Analysis all = analysed(spans, store);
  CHECK(only_finding(all).reason == jobs::Reason::none);
  CHECK(only_finding(all).checks[1].verdict == jobs::Verdict::ruled_out);
  CHECK(only_finding(all).summary.find("the available data shows no reason; CPU, other programs") != std::string::npos);
}

TEST_CASE("a busy CPU without another program, a CPU that others have, and swapping") {
  const struct {
    const char *metric;
    double usual, slow;
    jobs::Reason reason;
  } cases[] = {{"sys.cpu.usage", 40, 97, jobs::Reason::cpu},
               {"sys.cpu.steal", 0, 30, jobs::Reason::cpu},
               {"cgroup.cpu.throttled.time", 0, 500, jobs::Reason::cpu},
               {"sys.swap.in.bytes", 0, 5e6, jobs::Reason::memory},
               {"sys.disk.write.await", 3, 40, jobs::Reason::disk},
               {"proc.net.tcp.retransmits", 0, 80, jobs::Reason::network}};
  for (const auto &one : cases) {
    MemoryStore store;
    add_metric(store, one.metric, one.usual, {{"GD44", one.slow}}, {{"process", "x"}, {"pid", "1"}});
    Spans spans;
    add_tasks(spans, "map", "GD44", 0.5);
    const jobs::Analysis all = analysed(spans, store);
    CHECK(only_finding(all).reason == one.reason);
  }
}

TEST_CASE("without metrics the node is named, and that no reason is known") {
  Spans spans;
  add_tasks(spans, "spill", "GD43", 0.7);
  MemoryStore store;
  const jobs::Analysis all = analysed(spans, store);
  const jobs::Finding &finding = only_finding(all);
  CHECK(finding.reason == jobs::Reason::none);
  CHECK(finding.index.empty());
  CHECK(finding.summary ==
        "spill of map tasks is slow on node GD43: the available data shows no reason; remote reads ruled out; no data about CPU, "
        "other "
        "programs, garbage collection, memory, disk and network");
}

TEST_CASE("metrics of a host under its short name belong to the node with its full name, and that is reported") {
  MemoryStore store;
  add_metric(store, "sys.cpu.usage", 40, {{"GD43", 97}}, {{"core", "0"}});
  Spans spans;
  for (int i = 0; i < 24; ++i) {
    const std::string &host = kHosts[static_cast<size_t>(i) % 4];
    spans.add("task", Spans::task("map", "m" + std::to_string(i), host + ".example.org"), i, host == "GD43" ? 20 : 10,
              {{"span.bytes", (1000 + i % 3) * kMebi}, {"span.outcome", 0}});
  }
  const jobs::Analysis all = analysed(spans, store);
  CHECK(only_finding(all).reason == jobs::Reason::cpu);
  REQUIRE(all.notes.size() == 1);
  CHECK(all.notes[0] ==
        "metrics: hosts with the same first label are treated as one: \"GD41\" for \"GD41.example.org\", \"GD42\" for "
        "\"GD42.example.org\", \"GD43\" for \"GD43.example.org\" and 1 more");
  // Another domain has a host of that name, too.
  store.add("sys.cpu.usage", {{"host", "GD43.example.com"}, {"core", "0"}}, {{1, 40}});
  Spans again;
  for (int i = 0; i < 24; ++i) {
    const std::string &host = kHosts[static_cast<size_t>(i) % 4];
    again.add("task", Spans::task("map", "m" + std::to_string(i), host + ".example.org"), i, host == "GD43" ? 20 : 10,
              {{"span.bytes", (1000 + i % 3) * kMebi}, {"span.outcome", 0}});
  }
  const jobs::Analysis unclear = analysed(again, store);
  CHECK(only_finding(unclear).reason == jobs::Reason::none);
  REQUIRE(unclear.notes.size() == 2);
  CHECK(unclear.notes[1].starts_with(
      "metrics: several hosts have the same first label, the match is ambiguous: \"GD43.example.org\" or "));
}

TEST_CASE("numbers for people") {
  CHECK(jobs::short_text(0) == "0");
  CHECK(jobs::short_text(1234.5) == "1234");
  CHECK(jobs::short_text(147.74) == "148");
  CHECK(jobs::short_text(12.34) == "12.3");
  CHECK(jobs::short_text(9.5) == "9.5");
  CHECK(jobs::short_text(0.25) == "0.25");
  CHECK(jobs::short_text(-0.001) == "-0.001");
  CHECK(jobs::percent_text(0.22) == "22 %");
  CHECK(jobs::percent_text(0.05) == "5.0 %");
  CHECK(jobs::percent_text(0) == "0 %");
  CHECK(jobs::size_text(8391947) == "8.4 MB");
  CHECK(jobs::size_text(999) == "999 B");
  CHECK(jobs::size_text(128e9) == "128 GB");
}

}  // namespace
}  // namespace atalaya::bottleneck::test
