// SPDX-License-Identifier: Apache-2.0
// One host against all others at the same time: a planted host is found, a healthy one has no finding, and the parts add up.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plugins/shared/analysis/explain/against.h"
#include "plugins/shared/analysis/explain/explanation.h"
#include "tests/unit/analysis/explain/simulated_host.h"

namespace atalaya::explain::test {
namespace {

constexpr query::Range kWindow{kT0 + kLength * kSecond, kT0 + kEnd *kSecond};

// Hosts with the same programs and unequal loads, as those of a cluster.
struct Fleet {
  explicit Fleet(uint32_t seed, int count = 8) : noise(seed) {
    for (int i = 0; i < count; ++i) hosts.push_back("n" + std::to_string(i + 1));
    for (const std::string &host : hosts) {
      const double load = noise.uniform(0.7, 1.3);
      add_process(host, "java", 30 * load, 2500 * load);
      add_process(host, "postgres", 8 * load, 300 * load);
      add_process(host, "nginx", 4 * load, 60);
      add(host, "sys.mem.total", {}, noise.series(16000, 0, 0));
      for (const char *core : {"0", "1", "2", "3"}) add(host, "sys.cpu.usage", {{"core", core}}, noise.series(10 * load, 4, 0.6));
      add(host, "sys.disk.write.ios", {{"disk", "sda"}}, noise.series(30 * load, 8, 0.3));
      add(host, "sys.pressure.io.some.stall", {}, noise.series(0.5, 0.5, 0.3));
    }
  }
  void add(const std::string &host, const std::string &metric, Tags tags, const Values &values) {
    tags["host"] = host;
    store.add(metric, tags, values);
  }
  void add_process(const std::string &host, const std::string &name, double cpu, double memory, double writes = 0.05) {
    const Tags tags = {{"process", name}, {"pid", std::to_string(next_pid++)}};
    add(host, "proc.cpu.user", tags, noise.series(cpu, cpu / 4, 0.6, 0.03, 20));
    add(host, "proc.cpu.kernel", tags, noise.series(cpu / 4, cpu / 8, 0.6));
    add(host, "proc.mem.resident", tags, noise.walk(memory, memory / 500));
    add(host, "proc.disk.writes.mb", tags, noise.series(writes, writes / 4, 0.2, 0.05, 2));
  }
  void add_disk_time(const std::string &slow, double more) {
    for (const std::string &host : hosts)
      add(host, "sys.disk.write.time", {{"disk", "sda"}}, noise.series(20 + (host == slow ? more : 0), 8, 0.3));
  }
  Explanation explained(const std::string &host, const std::string &by = "process") {
    query::Budget budget({});
    Reader reader{store, budget};
    Request request;
    request.window = {kWindow, {{"host", {host}}}};
    request.by = by;
    set_baseline(request, "hosts", store, kT0 + kEnd * kSecond);
    return explain(request, reader);
  }

  SimulatedStore store;
  Noise noise;
  std::vector<std::string> hosts;
  int next_pid = 100;
};

std::string first_of(const Explanation &explanation) {
  if (explanation.findings.empty()) return "nothing";
  const Change &change = explanation.findings.front().change;
  return std::string(change.resource.id) + ": " + (change.named > 0 ? part_name(change.parts.front().tags, false) : "total");
}

TEST_CASE("a host with a hog, another one's memory and a slow disk are found against the other hosts") {
  for (uint32_t seed = 1; seed <= test::rounds(5); ++seed) {
    Fleet fleet(seed);
    fleet.add_process("n3", "hog", 150, 10);
    fleet.add_process("n5", "java", 5, 9000);
    fleet.add_disk_time("n6", 900);
    CAPTURE(seed);
    CHECK(first_of(fleet.explained("n3")) == "cpu: hog");
    CHECK(first_of(fleet.explained("n5")) == "memory: java");
    CHECK(first_of(fleet.explained("n6")) == "waiting.disk: sda");
  }
}

// Each comparison of healthy hosts has a finding with a probability of 1 % at most.
TEST_CASE("healthy hosts with unequal loads have no finding beyond the stated chance, each against all others") {
  size_t comparisons = 0, findings = 0;
  for (const auto &[count, seeds] : {std::pair(4, 10), {8, 4}})
    for (uint32_t seed = 1; seed <= test::rounds(static_cast<uint32_t>(seeds)); ++seed) {
      Fleet fleet(seed, count);
      fleet.add_disk_time("", 0);
      for (const std::string &host : fleet.hosts) {
        ++comparisons;
        findings += first_of(fleet.explained(host)) == "nothing" ? 0 : 1;
      }
    }
  CHECK(findings <= 1 + comparisons / 100);
}

TEST_CASE("the parts add up to the difference from the mean of the others, and both are sums of samples") {
  for (uint32_t seed = 1; seed <= test::rounds(3); ++seed) {
    Fleet fleet(seed);
    fleet.add_process("n2", "hog", 150, 3000, 90);
    fleet.add_process("n4", "other", 20, 100);
    const Explanation explanation = fleet.explained("n2");
    REQUIRE_FALSE(explanation.findings.empty());
    CHECK(explanation.hosts == std::vector<std::string>{"n2"});
    CHECK(explanation.others == std::vector<std::string>{"n1", "n3", "n4", "n5", "n6", "n7", "n8"});
    for (const Finding &finding : explanation.findings) {
      const Change &change = finding.change;
      double sum = change.other().change();
      for (size_t i = 0; i < change.named; ++i) sum += change.parts[i].difference.change();
      CHECK(sum == doctest::Approx(change.total.change()).epsilon(1e-6));
      if (change.resource.keys != std::vector<std::string>{"process"}) continue;
      std::map<std::string, double> own, others;
      for (const auto &kept : fleet.store.all()) {
        const auto &metrics = change.resource.metrics;
        if (std::find(metrics.begin(), metrics.end(), kept.series.metric) == metrics.end()) continue;
        const Tags &tags = kept.series.tags;
        const bool is_own = tags.at("host") == "n2";
        for (const query::Point &point : kept.points)
          if (point.time_ns > kWindow.from_ns && point.time_ns <= kWindow.to_ns)
            (is_own ? own : others)[tags.at("process")] += point.value * change.resource.scale * kStep / kLength / (is_own ? 1 : 7);
      }
      for (const PartChange &part : change.parts) {
        CHECK(part.difference.before == doctest::Approx(others[part.tags.at("process")]).epsilon(1e-6));
        CHECK(part.difference.after == doctest::Approx(own[part.tags.at("process")]).epsilon(1e-6));
      }
    }
  }
}

TEST_CASE("text and JSON name the hosts of the baseline") {
  Fleet fleet(1);
  fleet.add_process("n3", "hog", 150, 10);
  const Explanation explanation = fleet.explained("n3");
  const std::string text = as_text(explanation);
  CHECK(text.find("Baseline: at the same time, the mean of 7 other hosts: n1, n2, n4, n5, n6, n7, n8\n") != std::string::npos);
  CHECK(text.find("p is also at least that of one more host among the 7 others (Student's t).") != std::string::npos);
  CHECK(as_json(explanation).find(R"("hosts":["n3"],"others":["n1","n2","n4","n5","n6","n7","n8"])") != std::string::npos);
}

TEST_CASE("what cannot be compared is an error that says what to write") {
  Fleet few(1, 3);
  CHECK_THROWS_WITH_AS(few.explained("n1"), doctest::Contains("needs at least 3 other hosts, and 2 were measured"), query::Wrong);
  Fleet fleet(1);
  CHECK_THROWS_WITH_AS(fleet.explained("n*"), doctest::Contains("8 hosts with this name were measured"), query::Wrong);
  for (const char *by : {"pid", "container", "cgroup"})
    CHECK_THROWS_WITH_AS(fleet.explained("n1", by), doctest::Contains("use --by process, unit or user"), query::Wrong);
  CHECK_THROWS_WITH_AS(fleet.explained("!n1"), doctest::Contains("--tag host=NAME --against hosts"), query::Wrong);
  Request request;
  CHECK_THROWS_WITH_AS(set_baseline(request, "hosts", fleet.store, 0), doctest::Contains("--tag host=NAME --against hosts"),
                       query::Wrong);
}

TEST_CASE("a host that was not measured in the range is left out, and said so") {
  Fleet fleet(1);
  fleet.store.add("sys.mem.total", {{"host", "gone"}}, {{5, 16000}, {kLength + 5, 16000}});
  fleet.add_process("n3", "hog", 150, 10);
  const Explanation explanation = fleet.explained("n3");
  CHECK(first_of(explanation) == "cpu: hog");
  CHECK(explanation.others.size() == 7);
  REQUIRE_FALSE(explanation.notes.empty());
  CHECK(explanation.notes.front() == "1 other host is left out: not measured in the whole range");
}

TEST_CASE("a fleet in which each step lacks a host is compared with the hosts that have all steps") {
  Fleet fleet(1);
  for (int i = 0; i < 30; ++i) {  // one step of 20 s is missing
    Values values;
    for (int second = kStep; second <= kEnd; second += kStep)
      if ((second - kLength - kStep) / 20 != i) values.emplace_back(second, 16000);
    fleet.store.add("sys.mem.total", {{"host", "gap" + std::to_string(i)}}, values);
  }
  fleet.add_process("n3", "hog", 150, 10);
  const Explanation explanation = fleet.explained("n3");
  CHECK(first_of(explanation) == "cpu: hog");
  CHECK(explanation.others.size() == 7);
  REQUIRE(explanation.notes.size() == 1);
  CHECK(explanation.notes.front() == "30 other hosts are left out: not measured in the whole range");
}

TEST_CASE("hosts that do not collect a resource are not hosts that use nothing of it") {
  Fleet fleet(1);
  const auto collect = [&](const std::string &host) {
    fleet.add(host, "proc.net.tcp.in.mb", {{"process", "java"}, {"pid", host}}, fleet.noise.series(80, 5, 0.3));
    fleet.add(host, "proc.net.lost", {{"process", "unattributed"}}, fleet.noise.series(0, 0, 0));
  };
  for (const char *host : {"n1", "n2", "n3"}) collect(host);
  const auto has_note = [](const Explanation &explanation) {
    return std::any_of(explanation.notes.begin(), explanation.notes.end(), [](const std::string &note) {
      return note == "network traffic of processes is not compared: fewer than 3 other hosts have samples of it";
    });
  };
  CHECK(has_note(fleet.explained("n1")));
  collect("n4");
  const Explanation explanation = fleet.explained("n1");
  CHECK_FALSE(has_note(explanation));
  const auto network = std::find_if(explanation.unchanged.begin(), explanation.unchanged.end(),
                                    [](const Change &change) { return change.resource.id == "network"; });
  REQUIRE(network != explanation.unchanged.end());
  CHECK(network->total.before == doctest::Approx(network->total.after).epsilon(0.1));
}

}  // namespace
}  // namespace atalaya::explain::test
