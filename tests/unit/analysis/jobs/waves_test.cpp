// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "plugins/shared/analysis/evidence/statistics.h"
#include "tests/unit/analysis/jobs/jobs.h"

namespace atalaya::bottleneck::test {
namespace {

constexpr int64_t kMebi = 1 << 20;
const Counts kDone = {{"span.bytes", 100 * kMebi}, {"span.outcome", 0}};

double a_little(int number) {
  return 1 + 0.02 * (number % 5 - 2);
}

// Where each of four nodes runs a task after the other.
int wave_of(int number) {
  return number / 4;
}

// Waves of three tasks on each of four nodes, the first of which takes twice as long; n3 has the first one only.
Spans with_a_node_of_one_wave(double factor_of_n3) {
  Spans spans;
  int number = 0;
  for (int node = 0; node < 4; ++node)
    for (int wave = 0; wave < (node == 3 ? 1 : 8); ++wave)
      for (int slot = 0; slot < 3; ++slot, ++number) {
        const double length = (wave == 0 ? 20 : 10) * a_little(number) * (node == 3 ? factor_of_n3 : 1);
        spans.add("task", Spans::task("map", "m" + std::to_string(number), "n" + std::to_string(node)),
                  wave == 0 ? 0 : 12 + 10 * wave, length, kDone);
      }
  return spans;
}

TEST_CASE("a node that ran first waves only is compared with first waves") {
  Spans healthy = with_a_node_of_one_wave(1);
  const jobs::Analysis all = analysed(healthy);
  CHECK(all.findings.empty());
  for (const jobs::NodeSpeed &node : group_of(all, "map", "").nodes)
    if (all.data.name(node.host) == "n3") CHECK(node.others == doctest::Approx(100 * 1024 / 20.0).epsilon(0.05));
  Spans slow = with_a_node_of_one_wave(2);
  const jobs::Analysis found = analysed(slow);
  REQUIRE(found.findings.size() == 1);
  CHECK(found.data.name(found.findings[0].host) == "n3");
  CHECK(found.findings[0].slower == doctest::Approx(0.5).epsilon(0.05));
}

// Maps until 100 s; two reduces on each of four nodes from `begin` on, where n3's begin at `begin_of_n3`. From the end of the maps
// on, or from its own begin, a shuffle takes so long.
Spans with_reduces(double begin, double begin_of_n3, double shuffle_of_n3) {
  Spans spans;
  for (int i = 0; i < 40; ++i)
    spans.add("task", Spans::task("map", "m" + std::to_string(i), "n" + std::to_string(i % 4)), wave_of(i) * 10, 10, kDone);
  for (int i = 0; i < 16; ++i) {
    const bool is_n3 = i % 4 == 3;
    const double start = is_n3 ? begin_of_n3 : begin;
    const double fetched = std::max(start, 100.0) + (is_n3 ? shuffle_of_n3 : 10) * a_little(i);
    const Tags task = Spans::task("reduce", "r" + std::to_string(i), "n" + std::to_string(i % 4));
    spans.add("phase", Spans::with(task, "phase", "shuffle"), start, fetched - start, {{"span.bytes", 100 * kMebi}});
    spans.add("phase", Spans::with(task, "phase", "reduce"), fetched, 5, {{"span.bytes", 100 * kMebi}});
    spans.add("task", task, start, fetched + 5 - start, kDone);
  }
  return spans;
}

TEST_CASE("a reduce that was started early and waits for maps is not slow") {
  for (const double others : {100.0, 95.0}) {
    CAPTURE(others);
    Spans healthy = with_reduces(others, 5, 10);
    CHECK(analysed(healthy).findings.empty());
  }
  Spans slow = with_reduces(95, 5, 30);
  const jobs::Analysis all = analysed(slow);
  REQUIRE(all.findings.size() == 1);
  CHECK(all.data.name(all.findings[0].host) == "n3");
  CHECK(all.data.name(all.findings[0].phase) == "shuffle");
  for (const jobs::Entry &entry : group_of(all, "reduce", "shuffle").entries) CHECK(entry.start_ns == kT0 + 100 * kSecond);
}

// Ten waves on four nodes. Every attempt on these nodes is killed after a while: a copy that began after `copy_begin` was faster.
Spans with_copies(const std::vector<int> &nodes, int each, double killed_after, double copy_begin) {
  Spans spans;
  for (int i = 0; i < 40; ++i) {
    const int node = i % 4;
    const double start = wave_of(i) * 40;
    const std::string id = "m" + std::to_string(i);
    const Tags task = Spans::task("map", id, "n" + std::to_string(node));
    const bool is_killed = std::count(nodes.begin(), nodes.end(), node) > 0 && wave_of(i) < each;
    if (!is_killed) {
      spans.add("task", task, start, 10 * a_little(i), kDone);
      continue;
    }
    spans.add("task", task, start, killed_after, {{"span.outcome", 2}});
    const std::string elsewhere = "n" + std::to_string((node + 1) % 4);
    spans.add("task", Spans::with(Spans::with(task, "attempt", id + "_1"), "host", elsewhere), start + copy_begin, 10 * a_little(i),
              kDone);
  }
  return spans;
}

TEST_CASE("a node whose attempts are overtaken by copies on other nodes is found, though none of them ended") {
  Spans spans = with_copies({2}, 10, 25, 14);
  const jobs::Analysis all = analysed(spans);
  REQUIRE(all.findings.size() == 1);
  const jobs::Finding &finding = all.findings[0];
  CHECK(all.data.name(finding.host) == "n2");
  CHECK(finding.is_overtaken);
  CHECK(finding.tasks.size() == 10);
  CHECK(finding.lost == doctest::Approx(1));
  CHECK(finding.summary.starts_with(
      "map tasks are overtaken on node n2, 10 attempts were killed for copies elsewhere: the available data shows no reason"));
  CHECK(finding.evidence ==
        std::vector<std::string>{
            "10 of its attempts were killed after more than the stage's median of 10 s, because copies on other nodes "
            "had overtaken them",
            "that is 10 of the stage's 10 such attempts on a node that ran 10 of 50; they took 100 % of its "
            "tasks' time"});
  for (const uint32_t task : finding.tasks) CHECK(all.bottlenecks[task]);
}

TEST_CASE("metrics show why attempts were overtaken") {
  query::test::MemoryStore store;
  for (int node = 0; node < 4; ++node) {
    query::test::Values values;
    for (int second = 1; second <= 400; ++second) values.emplace_back(second, node == 2 ? 98 : 40);
    store.add("sys.cpu.usage", {{"host", "n" + std::to_string(node)}, {"core", "0"}}, values);
  }
  Spans spans = with_copies({2}, 10, 25, 14);
  const jobs::Analysis all = analysed(spans, store);
  REQUIRE(all.findings.size() == 1);
  CHECK(all.findings[0].reason == jobs::Reason::cpu);
  CHECK(all.findings[0].index.empty());
}

TEST_CASE("copies that were killed, attempts of all nodes, and tasks that were run again are not overtaken") {
  Spans late = with_copies({2}, 10, 6, 2);
  CHECK(analysed(late).findings.empty());
  Spans all_nodes = with_copies({0, 1, 2, 3}, 3, 25, 14);
  CHECK(analysed(all_nodes).findings.empty());
  Spans again = with_copies({2}, 10, 12, 14);  // for example, preempted
  CHECK(analysed(again).findings.empty());
  Spans few = with_copies({2}, 2, 25, 14);
  CHECK(analysed(few).findings.empty());
}

TEST_CASE("a reduce that waited for maps and was killed soon after was not overtaken for it") {
  for (const double killed_after_maps : {2.0, 25.0}) {
    CAPTURE(killed_after_maps);
    Spans spans;
    for (int i = 0; i < 8; ++i)
      spans.add("task", Spans::task("map", "m" + std::to_string(i), "n" + std::to_string(i % 4)), 0, 100, kDone);
    for (int i = 0; i < 40; ++i) {
      const Tags task = Spans::task("reduce", "r" + std::to_string(i), "n" + std::to_string(i % 4));
      if (i % 4 != 2) {
        spans.add("task", task, 5, 105 * a_little(i), kDone);
        continue;
      }
      spans.add("task", task, 5, 95 + killed_after_maps, {{"span.outcome", 2}});
      const Tags copy = Spans::with(Spans::with(task, "attempt", "r" + std::to_string(i) + "_1"), "host",
                                    "n" + std::to_string(i % 3 == 2 ? 3 : i % 3));
      spans.add("task", copy, 95, 15 * a_little(i), kDone);
    }
    CHECK(analysed(spans).findings.size() == (killed_after_maps > 20 ? 1 : 0));
  }
}

TEST_CASE("attempts that name no task have no copies") {
  Spans spans;
  for (int i = 0; i < 40; ++i) {
    Tags task = Spans::task("map", "m" + std::to_string(i), "n" + std::to_string(i % 4));
    task.erase("task");
    if (i % 4 == 2)
      spans.add("task", task, wave_of(i) * 10, 25, {{"span.outcome", 2}});
    else
      spans.add("task", task, wave_of(i) * 10, 10 * a_little(i), kDone);
  }
  CHECK(analysed(spans).findings.empty());
}

TEST_CASE("probability of this many by chance") {
  CHECK(evidence::binomial_tail(0, 5, 0.3) == 1);
  CHECK(evidence::binomial_tail(6, 5, 0.3) == 0);
  CHECK(evidence::binomial_tail(5, 5, 0.5) == doctest::Approx(1.0 / 32));
  CHECK(evidence::binomial_tail(2, 3, 0.25) == doctest::Approx(3 * 0.0625 * 0.75 + 0.015625));
  CHECK(evidence::binomial_tail(1, 4, 1) == doctest::Approx(1));
}

}  // namespace
}  // namespace atalaya::bottleneck::test
