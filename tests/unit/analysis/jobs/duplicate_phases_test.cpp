// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "tests/unit/analysis/jobs/jobs.h"

namespace atalaya::bottleneck::test {
namespace {

constexpr int kTasks = 24;

struct With {
  int lines = kTasks;  // number of tasks that print lines
  bool history = false, map_bytes = true;
};

// Maps one after the other on four nodes, n1 is slow in its spills. Lines are as those of examples/btrace, the history as Hadoop's.
jobs::Analysis job(const With &with) {
  Spans spans;
  for (int i = 0; i < kTasks; ++i) {
    const std::string host = "n" + std::to_string(i % 4);
    const Tags task = Spans::task("map", "m" + std::to_string(i), host);
    const int wave = i / 4;
    const double start = 40 * wave, spill = host == "n1" ? 6 : 2 + 0.01 * (i % 5);
    const auto add = [&](Tags tags, const std::string &phase, double begin, double length, int64_t bytes) {
      tags["phase"] = phase;
      spans.add("phase", tags, start + begin, length, bytes < 0 ? Counts() : Counts{{"span.bytes", bytes}});
    };
    const double end = 10 + 2 * spill;
    if (with.history) {
      const Tags coarse = Spans::with(task, "quality", "coarse");
      add(coarse, "map", 0, 8 + 2 * spill, 1 << 20);
      add(coarse, "merge", 8 + 2 * spill, 2, 1 << 19);
    }
    spans.add("task", task, start, end, {{"span.bytes", 1 << 20}, {"span.outcome", 0}});
    if (i >= with.lines) continue;
    const Tags placed = Spans::with(task, "quality", "placed");
    add(placed, "read", 1, 3, 1 << 20);
    add(placed, "map", 4, 2, with.map_bytes ? 1 << 20 : -1);
    add(placed, "collect", 6, 1, 1 << 20);
    add(task, "spill", 7, spill, 1 << 18);
    add(task, "spill", 7 + spill, spill, 1 << 18);
    add(task, "merge", 8.5 + 2 * spill, 1, 1 << 19);
  }
  spans.add("job", {{"job", "j"}}, 0, 400, {{"span.outcome", 0}});
  return analysed(spans);
}

void check_same(const jobs::Analysis &a, const jobs::Analysis &b) {
  REQUIRE(a.data.phases.size() == b.data.phases.size());
  for (size_t i = 0; i < a.data.phases.size(); ++i) {
    const jobs::Phase &one = a.data.phases[i], &other = b.data.phases[i];
    CHECK(a.data.name(one.phase) == b.data.name(other.phase));
    CHECK(one.busy_ns == other.busy_ns);
    CHECK(one.work.start_ns == other.work.start_ns);
    CHECK(one.work.duration_ns == other.work.duration_ns);
    CHECK(one.work.bytes == other.work.bytes);
    CHECK(one.work.remote == other.work.remote);
  }
  REQUIRE(a.ranks.size() == b.ranks.size());
  for (size_t i = 0; i < a.ranks.size(); ++i) CHECK(a.ranks[i].share == b.ranks[i].share);
  REQUIRE(a.findings.size() == b.findings.size());
  for (size_t i = 0; i < a.findings.size(); ++i) CHECK(a.findings[i].summary == b.findings[i].summary);
}

TEST_CASE("phases that lines and a history both report count once, with the values of the lines") {
  const jobs::Analysis lines = job({}), both = job({.history = true});
  check_same(both, lines);
  CHECK(lines.notes.empty());
  REQUIRE(both.notes.size() == 1);
  CHECK(both.notes[0] == "phases of 24 tasks are reported by their lines and by a history: the lines count");
  REQUIRE(both.findings.size() == 1);
  CHECK(both.data.name(both.findings[0].phase) == "spill");
  // Spill after spill they add up.
  const jobs::Group &spill = group_of(both, "map", "spill");
  CHECK(spill.entries[0].bytes == 1 << 19);
  CHECK(spill.entries[1].time_ns == 12 * kSecond);
  for (const jobs::PhaseRank &rank : both.ranks) CHECK(rank.share < 1);
}

TEST_CASE("bytes that only the history reports for a phase are kept") {
  const jobs::Analysis both = job({.history = true, .map_bytes = false});
  check_same(both, job({}));
  CHECK_FALSE(group_of(both, "map", "map").task_bytes);
}

// Reduces whose lines report the phases before `reduce`, up to `until`; the history reports shuffle, sort and reduce (12 to 20).
jobs::JobData reduces(double until, int with_lines = kTasks) {
  Spans spans;
  for (int i = 0; i < kTasks; ++i) {
    const Tags task = Spans::task("reduce", "r" + std::to_string(i), "n"), coarse = Spans::with(task, "quality", "coarse");
    spans.add("task", task, 0, 20, {{"span.bytes", 1000}, {"span.outcome", 0}});
    spans.add("phase", Spans::with(coarse, "phase", "shuffle"), 0, 8, {{"span.bytes", 1000}});
    spans.add("phase", Spans::with(coarse, "phase", "sort"), 8, 4, {{"span.bytes", 1000}});
    spans.add("phase", Spans::with(coarse, "phase", "reduce"), 12, 8, {{"span.bytes", 1000}});
    if (i >= with_lines) continue;
    spans.add("phase", Spans::with(task, "phase", "shuffle"), 1, 7, {{"span.bytes", 1000}});
    spans.add("phase", Spans::with(task, "phase", "merge"), 8, until - 8, {{"span.bytes", 1000}});
    spans.add("phase", Spans::with(task, "phase", "merge"), 8, (until - 8) / 2, {{"span.bytes", 1000}});
  }
  return spans.take();
}

std::ptrdiff_t count(const jobs::JobData &data, const std::string &name) {
  return std::count_if(data.phases.begin(), data.phases.end(),
                       [&](const jobs::Phase &one) { return data.name(one.phase) == name; });
}

TEST_CASE("a history's phase that no line reports is kept") {
  const jobs::JobData beside = reduces(12.5);
  CHECK(count(beside, "shuffle") == kTasks);
  CHECK(count(beside, "merge") == kTasks);
  CHECK(count(beside, "reduce") == kTasks);
  CHECK(count(beside, "sort") == 0);  // the lines' merge was in that time
  for (const jobs::Phase &phase : beside.phases)
    if (beside.name(phase.phase) == "shuffle") CHECK(phase.busy_ns == 7 * kSecond);
  const jobs::JobData over = reduces(14);
  CHECK(count(over, "reduce") == 0);
  CHECK(count(over, "merge") == kTasks);
  // Tasks without lines keep comparable phases.
  const jobs::JobData some = reduces(12.5, 16);
  CHECK(count(some, "reduce") == kTasks);
  CHECK(count(some, "shuffle") == 16);
  CHECK(count(some, "sort") == 0);
  CHECK(count(reduces(14, 16), "reduce") == 0);
}

TEST_CASE("tasks without lines are not compared with those that have some") {
  const jobs::Analysis maximum = job({.lines = 16, .history = true});
  CHECK(group_of(maximum, "map", "map").entries.size() == 16);
  CHECK(group_of(maximum, "map", "").entries.size() == kTasks);
  REQUIRE_FALSE(maximum.notes.empty());
  CHECK(maximum.notes.back() ==
        "phases of 16 tasks are reported by their lines and by a history: the lines count, and those of 8 other tasks that only "
        "a history reports are ignored");
  const jobs::Analysis few = job({.lines = 8, .history = true}), none = job({.lines = 0, .history = true});
  check_same(few, none);
  CHECK(none.notes.empty());
  REQUIRE(few.notes.size() == 1);
  CHECK(few.notes[0] ==
        "phases of 8 tasks are reported by their lines and by a history: the history counts, because most other tasks have no "
        "lines");
}

TEST_CASE("phases of other names are reported next to those of a history") {
  Spans spans;
  for (int i = 0; i < 4; ++i) {
    const Tags task = Spans::task("3", std::to_string(i), "n"), model = Spans::with(task, "quality", "model");
    spans.add("task", task, 0, 9, {{"span.bytes", 10}, {"span.outcome", 0}});
    spans.add("phase", Spans::with(model, "phase", "compute"), 0, 8, {{"span.bytes", 10}});
    spans.add("phase", Spans::with(task, "phase", "result-fetch"), 8, 1);
    if (i == 0) spans.add("phase", Spans::with(task, "phase", "parse"), 1, 2, {{"span.bytes", 10}});
    if (i == 1) spans.add("phase", Spans::with(task, "phase", "compute"), 1, 2, {{"span.bytes", 10}});
  }
  const jobs::JobData data = spans.take();
  const auto count = [&](const std::string &name) {
    return std::count_if(data.phases.begin(), data.phases.end(),
                         [&](const jobs::Phase &one) { return data.name(one.phase) == name; });
  };
  CHECK(count("parse") == 1);
  CHECK(count("compute") == 4);
  CHECK(count("result-fetch") == 3);  // of the task that told `compute` itself it was taken for its own, too
  CHECK(data.notes.size() == 1);
}

TEST_CASE("a task that only a history's phases mention keeps them") {
  Spans spans;
  const Tags one = Spans::with(Spans::task("map", "a", "n"), "phase", "map");
  const Tags other = Spans::with(Spans::task("map", "b", "n"), "phase", "map");
  spans.add("phase", one, 1, 2, {{"span.bytes", 10}});
  spans.add("phase", Spans::with(one, "quality", "coarse"), 0, 8, {{"span.bytes", 10}});
  spans.add("phase", Spans::with(other, "quality", "coarse"), 5, 8, {{"span.bytes", 10}});
  const jobs::JobData data = spans.take();
  REQUIRE(data.phases.size() == 2);
  CHECK(data.tasks[0].work.duration_ns == 2 * kSecond);
  CHECK(data.tasks[1].work.duration_ns == 8 * kSecond);
}

}  // namespace
}  // namespace atalaya::bottleneck::test
