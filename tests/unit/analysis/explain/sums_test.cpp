// SPDX-License-Identifier: Apache-2.0
// Laws of the parts: they add up to the difference, and equal sums over the samples that share no code with the engine.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>

#include "plugins/shared/analysis/evidence/statistics.h"
#include "plugins/shared/analysis/explain/against.h"
#include "plugins/shared/analysis/explain/explanation.h"
#include "plugins/shared/store/query/usage.h"
#include "tests/unit/analysis/explain/simulated_host.h"

namespace atalaya::explain::test {
namespace {

constexpr query::Range kWindow{kT0 + kLength * kSecond, kT0 + kEnd *kSecond}, kBaseline{kT0, kT0 + kLength *kSecond};

Host random_host(uint32_t seed) {
  Host host(seed);
  host.add_usual();
  const int count = static_cast<int>(host.noise.uniform(1, 30));
  for (int i = 0; i < count; ++i) {
    const double more = host.noise.uniform(0, 1) < 0.3 ? host.noise.uniform(-50, 200) : 0;
    const auto plant = [more](double) { return more; };
    const std::string name = "p" + std::to_string(static_cast<int>(host.noise.uniform(0, 9)));
    host.add_process(name, 1000 + i, host.noise.uniform(0, 60), host.noise.uniform(1, 900),
                     {.user = plant, .memory = plant, .reads = plant, .writes = plant, .traffic = plant});
  }
  host.add_host();
  return host;
}

Explanation explained(Host &host, size_t top = 5) {
  query::Budget budget({});
  Reader reader{host.store, budget};
  Request request{{kWindow, {}}, {kBaseline, {}}};
  request.top = top;
  return explain(request, reader);
}

// The mean of the samples of a metric in a range, by process: each sample is one window of it.
std::map<std::string, double> means(const Host &host, const std::vector<std::string> &metrics, double scale, int from) {
  std::map<std::string, double> sums;
  for (const auto &kept : host.store.all()) {
    if (std::find(metrics.begin(), metrics.end(), kept.series.metric) == metrics.end()) continue;
    for (const query::Point &point : kept.points)
      if (point.time_ns > kT0 + from * kSecond && point.time_ns <= kT0 + (from + kLength) * kSecond)
        sums[kept.series.tags.at("process")] += point.value * scale * kStep / kLength;
  }
  return sums;
}

TEST_CASE("named parts and other are the difference, and each is the sum of its samples") {
  for (uint32_t seed = 1; seed <= test::rounds(20); ++seed) {
    Host host = random_host(seed);
    const Explanation explanation = explained(host, 1 + seed % 4);
    for (const Finding &finding : explanation.findings) {
      const Change &change = finding.change;
      double sum = change.other().change();
      for (size_t i = 0; i < change.named; ++i) sum += change.parts[i].difference.change();
      CHECK(sum == doctest::Approx(change.total.change()).epsilon(1e-6));
      if (change.resource.keys != std::vector<std::string>{"process"}) continue;
      const auto before = means(host, change.resource.metrics, change.resource.scale, 0);
      const auto after = means(host, change.resource.metrics, change.resource.scale, kLength);
      double difference = 0;
      for (const auto &[process, mean] : after) difference += mean - before.at(process);
      CHECK(difference == doctest::Approx(change.total.change()).epsilon(1e-6));
      for (const PartChange &part : change.parts) {
        CHECK(part.difference.before == doctest::Approx(before.at(part.tags.at("process"))).epsilon(1e-6));
        CHECK(part.difference.after == doctest::Approx(after.at(part.tags.at("process"))).epsilon(1e-6));
      }
    }
  }
}

TEST_CASE("the values are the averages of report") {
  Host host = random_host(3);
  const Explanation explanation = explained(host);
  for (const Finding &finding : explanation.findings) {
    if (finding.change.resource.id != "memory") continue;
    query::Budget budget({});
    const auto usages = query::usage_of({"proc.mem.resident"}, {}, {"process"}, kWindow, host.store, budget);
    for (const PartChange &part : finding.change.parts)
      for (const query::Usage &usage : usages)
        if (usage.tags.at("process") == part.tags.at("process")) CHECK(usage.average == doctest::Approx(part.difference.after));
  }
}

TEST_CASE("nothing smaller than chance is named, and the named parts are sorted by size") {
  for (uint32_t seed = 30; seed < 30 + test::rounds(10); ++seed) {
    Host host = random_host(seed);
    for (const Finding &finding : explained(host).findings) {
      const Change &change = finding.change;
      for (size_t i = 0; i < change.named; ++i) {
        const Difference &part = change.parts[i].difference;
        CHECK(part.is_significant);
        CHECK(std::abs(part.change()) > kSpreads * part.spread);
        CHECK(part.chance <= evidence::kChance);
      }
      CHECK(change.severity() >= 0);
      CHECK(change.severity() <= 1);
    }
  }
}

TEST_CASE("two ranges with the same samples have no difference") {
  Host host = random_host(5);
  query::Budget budget({});
  Reader reader{host.store, budget};
  const Explanation explanation = explain({{kWindow, {}}, {kWindow, {}}}, reader);
  CHECK(explanation.findings.empty());
  for (const Change &change : explanation.unchanged) CHECK(change.total.change() == 0);
}

TEST_CASE("swapped ranges have the negative difference") {
  Host host = random_host(6);
  query::Budget budget({});
  Reader reader{host.store, budget};
  const auto totals = [&](const query::Range &window, const query::Range &baseline) {
    std::map<std::string_view, double> found;
    const Explanation explanation = explain({{window, {}}, {baseline, {}}}, reader);
    for (const Finding &finding : explanation.findings) found[finding.change.resource.id] = finding.change.total.change();
    for (const Change &change : explanation.unchanged) found[change.resource.id] = change.total.change();
    return found;
  };
  const auto there = totals(kWindow, kBaseline), back = totals(kBaseline, kWindow);
  REQUIRE(there.size() == back.size());
  for (const auto &[id, change] : there) CHECK(back.at(id) == doctest::Approx(-change));
}

TEST_CASE("a range without samples is refused, and one with gaps is cut") {
  Host host(1);
  host.add_usual();
  host.add_host();
  query::Budget budget({});
  Reader reader{host.store, budget};
  const query::Range empty{kT0 - 2 * kLength * kSecond, kT0 - kLength * kSecond};
  CHECK_THROWS_WITH_AS(explain({{kWindow, {}}, {empty, {}}}, reader), doctest::Contains("has 0 measured steps; at least 8"),
                       query::Wrong);
  // A third of the baseline is before the first sample: only the rest is compared.
  const query::Range half{kT0 - kLength / 2 * kSecond, kT0 + kLength * kSecond};
  const Explanation explanation = explain({{kWindow, {}}, {half, {}}}, reader);
  CHECK(explanation.findings.empty());
  REQUIRE(explanation.notes.size() == 1);
  CHECK(explanation.notes[0] == "10 of 30 steps of the baseline are left out: they have no samples, or some are missing");
}

TEST_CASE("baselines by name") {
  MemoryStore store;
  Request request{{{kT0, kT0 + kSecond}, {{"host", {"a"}}}}, {}};
  const int64_t now = kT0 + 10 * kSecond;
  set_baseline(request, "before", store, now);
  CHECK(request.baseline.range.from_ns == kT0 - kSecond);
  CHECK(request.baseline.range.to_ns == kT0);
  set_baseline(request, "yesterday", store, now);
  CHECK(request.baseline.range.to_ns == kT0 + kSecond - query::test::kDay);
  set_baseline(request, "5s..now", store, now);
  CHECK(request.baseline.range.from_ns == now - 5 * kSecond);
  CHECK(request.baseline.range.to_ns == now);
  set_baseline(request, "host=b", store, now);
  CHECK(request.baseline.range.to_ns == kT0 + kSecond);
  CHECK(request.baseline.tags.front().patterns == std::vector<std::string>{"b"});
  CHECK_FALSE(request.by_host);
  CHECK_THROWS_WITH_AS(set_baseline(request, "now..5s", store, now), doctest::Contains("ends before it begins"), query::Wrong);
  CHECK_THROWS_WITH_AS(set_baseline(request, "x..now", store, now), doctest::Contains("--against \"x..now\""), query::Wrong);
  CHECK_THROWS_AS(set_baseline(request, "nosuch", store, now), query::Wrong);
  request.window.tags.clear();
  CHECK_THROWS_WITH_AS(set_baseline(request, "host=b", store, now), doctest::Contains("--tag host=A"), query::Wrong);
}

TEST_CASE("names of processes are data in text and JSON") {
  Host host(2);
  host.add_usual();
  host.add_process("e\x1b[31m\"vil", 66, 0, 3, {.user = [](double) { return 150.0; }});
  host.add_host();
  const Explanation explanation = explained(host);
  CHECK(as_text(explanation).find('\x1b') == std::string::npos);
  CHECK(as_json(explanation).find("\\\"vil") != std::string::npos);
}

}  // namespace
}  // namespace atalaya::explain::test
