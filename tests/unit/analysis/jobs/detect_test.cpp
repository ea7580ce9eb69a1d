// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/analysis/jobs/jobs.h"

namespace atalaya::bottleneck::test {
namespace {

constexpr int64_t kKibi = 1024;
const std::vector<std::string> kPhases = {"read", "map", "collect", "spill", "merge"};

// Of each task 1000 KiB through every phase; `seconds` of each phase, `noise` as a factor's deviation.
struct Cluster {
  size_t nodes = 4, tasks_of_node = 8;
  std::array<double, 5> seconds = {2, 4, 0.5, 2, 1.5};
  double noise = 0.1;
  uint64_t seed = 1;
  // Multiplies the duration by this factor.
  std::string slow_node, slow_phase;
  double factor = 1;

  void add(Spans &spans, const std::string &job = "j") const {
    std::mt19937_64 random(seed);
    std::lognormal_distribution<double> factors(0, noise);
    for (size_t i = 0; i < nodes * tasks_of_node; ++i) {
      const std::string host = "n" + std::to_string(i % nodes);
      Tags task = Spans::task("map", "m" + std::to_string(i), host);
      task["job"] = job;
      const auto wave = i / nodes;
      const double start = 12.0 * static_cast<double>(wave);
      double at = start;
      for (size_t phase = 0; phase < kPhases.size(); ++phase) {
        const bool is_slow = host == slow_node && kPhases[phase] == slow_phase;
        const double time = seconds[phase] * factors(random) * (is_slow ? factor : 1);
        spans.add("phase", Spans::with(task, "phase", kPhases[phase]), at, time, {{"span.bytes", 1000 * kKibi}});
        at += time;
      }
      spans.add("task", task, start, at - start, {{"span.bytes", 1000 * kKibi}, {"span.outcome", 0}});
    }
  }
};

TEST_CASE("the first algorithm on ten tasks by hand") {
  // KiB and seconds, and so KiB/s: 100 98 102 60 61 30 31 10 11 200 on nodes a to e.
  const struct {
    const char *host;
    int64_t kib;
    double seconds;
    jobs::Grade grade;
  } expected[] = {{"a", 1000, 10, jobs::Grade::higher}, {"a", 980, 10, jobs::Grade::higher}, {"b", 1020, 10, jobs::Grade::higher},
                  {"b", 600, 10, jobs::Grade::medium},  {"c", 305, 5, jobs::Grade::medium},  {"c", 300, 10, jobs::Grade::lower},
                  {"d", 310, 10, jobs::Grade::lower},   {"e", 100, 10, jobs::Grade::lowest}, {"e", 220, 20, jobs::Grade::lowest},
                  {"a", 1000, 5, jobs::Grade::highest}};
  for (const jobs::Clustering clustering : {jobs::Clustering::pam, jobs::Clustering::kmeans}) {
    Spans spans;
    for (size_t i = 0; i < std::size(expected); ++i)
      spans.add("task", Spans::task("map", "t" + std::to_string(i), expected[i].host), static_cast<double>(i), expected[i].seconds,
                {{"span.bytes", expected[i].kib * kKibi}});
    const jobs::Analysis all = analysed(spans, {.clustering = clustering});
    const jobs::Group &group = group_of(all, "map", "");
    REQUIRE(group.entries.size() == std::size(expected));
    for (size_t i = 0; i < std::size(expected); ++i) {
      CHECK(group.entries[i].speed == doctest::Approx(static_cast<double>(expected[i].kib) / expected[i].seconds));
      CHECK(grade_text(group.entries[i].grade) == grade_text(expected[i].grade));
    }
    // Lowest and lower: e 2, c 1, d 1. One of five nodes is the top 20 %.
    REQUIRE(all.nodes.size() == 5);
    CHECK(all.data.name(all.nodes[0].host) == "e");
    CHECK(all.nodes[0].lowest == 2);
    CHECK(all.nodes[0].top);
    CHECK(all.nodes[1].lower == 1);
    CHECK_FALSE(all.nodes[1].top);
  }
}

TEST_CASE("map and reduce tasks, and jobs, are graded apart") {
  Spans spans;
  for (int i = 0; i < 6; ++i) {
    spans.add("task", Spans::task("map", "m" + std::to_string(i), "a"), i, 1, {{"span.bytes", (1000 + i) * kKibi}});
    spans.add("task", Spans::task("reduce", "r" + std::to_string(i), "a"), i, 1, {{"span.bytes", (10 + i) * kKibi}});
  }
  const jobs::Analysis all = analysed(spans);
  for (const char *stage : {"map", "reduce"}) {
    const jobs::Group &group = group_of(all, stage, "");
    CHECK(group.entries.front().grade == jobs::Grade::lowest);
    CHECK(group.entries.back().grade == jobs::Grade::highest);
  }
}

TEST_CASE("the second algorithm marks the phase whose speed goes with the task's") {
  Spans spans;
  for (int i = 0; i < 10; ++i) {
    const Tags task = Spans::task("map", "m" + std::to_string(i), "a");
    const double spill = 1 + i, read = i % 2 == 0 ? 1.0 : 1.1;  // spill decides, read goes up and down, map is always as fast
    spans.add("task", task, 0, 2 + spill + read, {{"span.bytes", 1000 * kKibi}});
    spans.add("phase", Spans::with(task, "phase", "read"), 0, read, {{"span.bytes", 1000 * kKibi}});
    spans.add("phase", Spans::with(task, "phase", "map"), 2, 2, {{"span.bytes", 1000 * kKibi}});
    spans.add("phase", Spans::with(task, "phase", "spill"), 4, spill, {{"span.bytes", 1000 * kKibi}});
  }
  const jobs::Analysis all = analysed(spans);
  REQUIRE(all.ranks.size() == 3);
  CHECK(all.data.name(all.groups[all.ranks[0].group].phase) == "spill");
  CHECK(all.ranks[0].bottleneck);
  CHECK(all.ranks[0].correlation > 0.9);
  CHECK(all.ranks[0].loading > 0.9);
  CHECK(all.ranks[0].share == doctest::Approx(55.0 / 85.5));
  CHECK_FALSE(all.ranks[1].bottleneck);
  CHECK(std::isnan(all.ranks[2].correlation));  // of map, which does not change
}

TEST_CASE("a slow phase of a node is found, with the tasks") {
  for (const std::string &phase : kPhases) {
    Cluster cluster{.slow_node = "n2", .slow_phase = phase, .factor = phase == "collect" ? 4.0 : 2.0};
    Spans spans;
    cluster.add(spans);
    const jobs::Analysis all = analysed(spans);
    REQUIRE(all.findings.size() == 1);
    const jobs::Finding &finding = all.findings[0];
    CHECK(finding.kind == jobs::Finding::Kind::node);
    CHECK(all.data.name(finding.host) == "n2");
    CHECK(all.data.name(finding.phase) == phase);
    CHECK(finding.slower == doctest::Approx(1 - 1 / cluster.factor).epsilon(0.1));
    CHECK(finding.tasks.size() >= 6);
    for (const uint32_t task : finding.tasks) CHECK(all.data.name(all.data.tasks[task].host) == "n2");
    size_t named = 0;
    for (const jobs::Node &node : all.nodes) named += node.bottleneck ? 1 : 0;
    CHECK(named == 1);
  }
}

TEST_CASE("healthy jobs have no findings, however noisy") {
  size_t found = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Cluster cluster{
        .nodes = 2 + seed % 7, .tasks_of_node = 4 + seed % 13, .noise = 0.05 + 0.05 * static_cast<double>(seed % 8), .seed = seed};
    Spans spans;
    cluster.add(spans);
    found += analysed(spans).findings.size();
  }
  CHECK(found <= 2);  // one in a hundred at most
}

TEST_CASE("a node that is a little slower, and a phase that hardly counts, are no bottlenecks") {
  Spans spans;
  Cluster{.tasks_of_node = 100, .slow_node = "n1", .slow_phase = "map", .factor = 1.15}.add(spans);
  CHECK(analysed(spans).findings.empty());
  Spans again;
  Cluster{.seconds = {2, 4, 0.02, 2, 1.5}, .slow_node = "n1", .slow_phase = "collect", .factor = 5}.add(again);
  CHECK(analysed(again).findings.empty());
  Spans minimum;
  Cluster{.tasks_of_node = 100, .slow_node = "n1", .slow_phase = "map", .factor = 1.15}.add(minimum);
  CHECK(analysed(minimum, {.minimum = 0.05}).findings.size() == 1);
}

TEST_CASE("a node that is no further from the others than these are from each other is not slow") {
  const auto findings = [](std::initializer_list<double> seconds) {
    Spans spans;
    for (size_t i = 0; i < 10 * seconds.size(); ++i) {
      const size_t node = i % seconds.size();
      spans.add("task", Spans::task("map", "m" + std::to_string(i), "n" + std::to_string(node)), static_cast<double>(i),
                seconds.begin()[node] + 0.1 * static_cast<double>(i % 7), {{"span.bytes", 1000 * kKibi}});
    }
    return analysed(spans).findings.size();
  };
  CHECK(findings({10, 10.3, 10.1, 14}) == 1);
  CHECK(findings({8, 10, 11, 14}) == 0);
}

TEST_CASE("two slow nodes of five are both named, the one that lost more first") {
  Spans spans;
  for (int i = 0; i < 50; ++i) {
    const int node = i % 5;
    spans.add("task", Spans::task("map", "m" + std::to_string(i), "n" + std::to_string(node)), i,
              (node == 1   ? 20
               : node == 3 ? 30
                           : 10) +
                  0.1 * (i % 7),
              {{"span.bytes", 1000 * kKibi}});
  }
  const jobs::Analysis all = analysed(spans);
  REQUIRE(all.findings.size() == 2);
  CHECK(all.data.name(all.findings[0].host) == "n3");
  CHECK(all.data.name(all.findings[1].host) == "n1");
  CHECK(all.findings[0].summary.starts_with("map tasks are slow on node n3: "));
}

TEST_CASE("a node's remote share is of the input, not of the bytes that reduces fetched") {
  Spans spans;
  for (int i = 0; i < 12; ++i) {
    const std::string node = "n" + std::to_string(i % 4);
    spans.add("task", Spans::task("map", "m" + std::to_string(i), node), i, 1,
              {{"span.bytes", 1000}, {"span.bytes.remote", node == "n1" ? 500 : 0}});
    if (node != "n2") continue;
    const Tags reduce = Spans::task("reduce", "r" + std::to_string(i), node);
    spans.add("task", reduce, i, 1, {{"span.bytes", 9000}});
    spans.add("phase", Spans::with(Spans::with(reduce, "phase", "shuffle"), "source", "network"), i, 1, {{"span.bytes", 9000}});
  }
  for (const jobs::Analysis all = analysed(spans); const jobs::Node &node : all.nodes)
    CHECK(node.remote_share() == doctest::Approx(all.data.name(node.host) == "n1" ? 0.5 : 0));
}

TEST_CASE("few tasks, a single node, or no data are reported") {
  Spans few;
  for (int i = 0; i < 6; ++i)
    few.add("task", Spans::task("map", std::to_string(i), "n" + std::to_string(i % 2)), i, i % 2 == 0 ? 1 : 50,
            {{"span.bytes", kKibi}});
  const jobs::Analysis of_few = analysed(few);
  CHECK(of_few.findings.empty());
  CHECK(of_few.notes ==
        std::vector<std::string>{"job \"j\", stage \"map\": 6 tasks with a known speed are too few to distinguish a slow node from "
                                 "chance (8 needed)"});
  Spans one;
  for (int i = 0; i < 9; ++i) one.add("task", Spans::task("map", std::to_string(i), "n"), i, 1 + i, {{"span.bytes", kKibi}});
  CHECK(analysed(one).notes.at(0).ends_with("all 9 tasks ran on one node: no other node to compare with"));
  Spans spread;
  for (int i = 0; i < 9; ++i)
    spread.add("task", Spans::task("map", std::to_string(i), std::to_string(i)), i, 1 + i, {{"span.bytes", kKibi}});
  CHECK(analysed(spread).notes.at(0).find("no node ran 3 of its 9 tasks") != std::string::npos);
  Spans silent;
  for (int i = 0; i < 9; ++i) silent.add("task", Spans::task("map", std::to_string(i), "n"), i, 1, {{"span.bytes", 0}});
  const jobs::Analysis of_silent = analysed(silent);
  CHECK(of_silent.notes.size() == 2);
  CHECK(of_silent.notes[1].find("report no bytes (span.bytes), so they are compared by their time") != std::string::npos);
}

TEST_CASE("a phase without bytes is measured by its task's") {
  Spans spans;
  for (int i = 0; i < 4; ++i) {
    const Tags task = Spans::task("map", std::to_string(i), "n");
    spans.add("task", task, 0, 10, {{"span.bytes", 100 * kKibi}});
    spans.add("phase", Spans::with(task, "phase", "sort"), 1, 5);
  }
  const jobs::Analysis all = analysed(spans);
  const jobs::Group &group = group_of(all, "map", "sort");
  CHECK(group.task_bytes);
  for (const jobs::Entry &entry : group.entries) CHECK(entry.speed == doctest::Approx(20));
}

TEST_CASE("one phase without bytes does not make those of the other tasks unknown") {
  Spans spans;
  for (int i = 0; i < 24; ++i) {
    const Tags task = Spans::task("reduce", std::to_string(i), "n" + std::to_string(i % 4));
    spans.add("task", task, 0, 10, {{"span.bytes", 100 * kKibi}});
    spans.add("phase", Spans::with(task, "phase", "write"), 5, 5, i == 7 ? Counts() : Counts{{"span.bytes", 10 * kKibi}});
  }
  const jobs::Analysis all = analysed(spans);
  const jobs::Group &group = group_of(all, "reduce", "write");
  CHECK_FALSE(group.task_bytes);
  CHECK(group.without_speed == 1);
  REQUIRE(group.entries.size() == 23);
  for (const jobs::Entry &entry : group.entries) CHECK(entry.speed == doctest::Approx(2));
}

// Forty tasks on four nodes, in waves of two per node; some take a multiple of the time.
Spans with_slow_tasks(const std::vector<int> &slow, double factor) {
  Spans spans;
  for (int i = 0; i < 40; ++i) {
    const bool is_slow = std::find(slow.begin(), slow.end(), i) != slow.end();
    const int start = 12 * (i / 8);
    spans.add("task", Spans::task("map", "m" + std::to_string(i), "n" + std::to_string(i % 4)), start,
              (10 + 0.1 * (i % 5)) * (is_slow ? factor : 1),
              {{"span.bytes", 1000 * kKibi}, {"span.gc.time", is_slow ? 30'000 : 100}});
  }
  return spans;
}

TEST_CASE("a slow task is named with its measurements") {
  Spans spans = with_slow_tasks({17}, 5);
  const jobs::Analysis all = analysed(spans);
  REQUIRE(all.findings.size() == 1);
  CHECK(all.findings[0].kind == jobs::Finding::Kind::tasks);
  CHECK(
      all.findings[0].summary ==
      "1 map task is slow by itself, and not the other tasks of node n1: garbage collection 59 % of the tasks' time, 1.0 % on the "
      "other nodes; no data about remote reads");
  CHECK(all.findings[0].evidence.back() ==
        "metrics of nodes are not compared for single tasks: no statement about CPU, memory, disk, network and other programs");
  CHECK(all.data.tasks[all.findings[0].tasks.at(0)].task() == "m17");
  CHECK(all.bottlenecks[17]);
}

TEST_CASE("a task that warms its program up, or is slow as tasks are now and then, is not") {
  Spans warming = with_slow_tasks({0, 1, 2, 3, 4, 5, 6, 7}, 5);
  const jobs::Analysis warm = analysed(warming);  // its collections are a cause, but no task is slow
  REQUIRE(warm.findings.size() == 1);
  CHECK(warm.findings.front().kind == jobs::Finding::Kind::rule);
  Spans little = with_slow_tasks({17}, 2.5);
  CHECK(analysed(little).findings.empty());
  // Five times as slow, but of tasks of a second.
  Spans quick;
  for (int i = 0; i < 40; ++i) {
    const int start = 2 * (i / 8);
    quick.add("task", Spans::task("map", "m" + std::to_string(i), "n" + std::to_string(i % 4)), start,
              (1 + 0.01 * (i % 5)) * (i == 17 ? 5 : 1), {{"span.bytes", 1000 * kKibi}});
  }
  CHECK(analysed(quick).findings.empty());
}

TEST_CASE("a task with ten times the bytes is named with them, if the job waits for it") {
  const auto job = [](double seconds) {
    Spans spans;
    for (int i = 0; i < 12; ++i)
      spans.add("task", Spans::task("reduce", "r" + std::to_string(i), "n" + std::to_string(i % 4)), 0,
                i == 5 ? seconds : 10 + 0.1 * i, {{"span.bytes", (i == 5 ? 10'000 : 1000 + i) * kKibi}});
    return analysed(spans);
  };
  const jobs::Analysis all = job(100);
  REQUIRE(all.findings.size() == 1);
  CHECK(all.findings[0].reason == jobs::Reason::skew);
  CHECK(all.findings[0].summary ==
        "skew: reduce task r5 has 9.94 times the bytes of the stage's median task; with the median bytes, the job would take 88.9 "
        "s (89 %) "
        "less time");
  CHECK(all.findings[0].evidence == std::vector<std::string>{"r5 on n1: 10.2 MB, 9.94 times the median of 1.0 MB, in 100 s"});
  CHECK(all.bottlenecks[5]);
  CHECK(job(11).findings.empty());
}

TEST_CASE("a node where attempts fail is named with their number") {
  Spans spans;
  for (int i = 0; i < 48; ++i) {
    const bool fails = i % 8 == 1;
    spans.add("task", Spans::task("map", "m" + std::to_string(i), "n" + std::to_string(i % 4)), 12 * (i / 4), 10 + 0.1 * (i % 5),
              {{"span.bytes", 1000 * kKibi}, {"span.outcome", fails ? 1 : 0}});
  }
  const jobs::Analysis all = analysed(spans);
  REQUIRE(all.findings.size() == 1);
  CHECK(all.findings[0].reason == jobs::Reason::failures);
  CHECK(all.findings[0].tasks.size() == 6);
  CHECK(all.findings[0].summary ==
        "attempts fail on node n1: 6 of its 12 attempts failed (50 %), 0 of 36 on the other nodes (0 %)");
}

TEST_CASE("tasks without bytes are compared by their time, and a stage with a number is named as one") {
  Spans spans;
  for (int i = 0; i < 32; ++i)
    spans.add("task", Spans::task("0", std::to_string(i), "n" + std::to_string(i % 4)), 30 * (i / 4),
              (10 + 0.1 * (i % 5)) * (i % 4 == 2 ? 2 : 1));
  const jobs::Analysis all = analysed(spans);
  REQUIRE(all.findings.size() == 1);
  CHECK(all.findings[0].summary.starts_with("stage 0 tasks are slow on node n2: "));
  CHECK(all.findings[0].evidence[0].find(" s per task on n2, 10.2 s per task on the other nodes") != std::string::npos);
  MESSAGE(all.findings[0].evidence[0]);
}

}  // namespace
}  // namespace atalaya::bottleneck::test
