// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/schedule/critical_path.h"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>
#include <string>

#include "plugins/shared/analysis/jobs/schedule/slots.h"
#include "plugins/shared/analysis/jobs/schedule/what_if.h"
#include "tests/unit/analysis/jobs/jobs.h"

namespace atalaya::bottleneck::test {
namespace {

Tags spark_task(const std::string &stage, int id, const std::string &host) {
  return {{"job", "j"},   {"stage", stage},  {"task", stage + "." + std::to_string(id)}, {"attempt", std::to_string(id)},
          {"host", host}, {"executor", host}};
}

std::map<std::string, double> parts_of(const jobs::CriticalPath &path) {
  std::map<std::string, double> parts;
  for (const jobs::PathPart &part : path.parts) parts[part.name] = static_cast<double>(part.ns) / 1e9;
  return parts;
}

std::string tasks_of(const jobs::JobData &data, const jobs::CriticalPath &path) {
  std::string text;
  for (const jobs::PathStep &step : path.steps)
    text += step.kind == jobs::PathStep::Kind::gap ? "-" : std::string(data.tasks[step.task].attempt());
  return text;
}

// The path has no hole, begins and ends with the job, and its parts are all of it.
void check_law(const jobs::CriticalPath &path) {
  int64_t at = path.begin_ns, sum = 0;
  for (const jobs::PathStep &step : path.steps) {
    CHECK(step.begin_ns == at);
    CHECK(step.end_ns > step.begin_ns);
    at = step.end_ns;
  }
  CHECK(at == path.end_ns);
  for (const jobs::PathPart &part : path.parts) {
    CHECK(part.ns > 0);
    sum += part.ns;
  }
  CHECK(sum == path.end_ns - path.begin_ns);
}

double predicted(const jobs::WhatIf &all, const std::string &change) {
  for (const jobs::Prediction &one : all.predictions)
    if (one.change == change) return one.seconds;
  return -1;
}

}  // namespace

// Spark starts a task some milliseconds before it logs the end of the one before.
TEST_CASE("tasks that overlap by milliseconds share a slot") {
  for (const int64_t reported : {0, 1}) {
    Spans spans;
    spans.add("job", {{"job", "j"}, {"framework", "spark"}}, 0, 10.1, {{"span.outcome", 0}});
    for (const char *host : {"a", "b"}) {
      if (reported > 0)
        spans.add("executor", {{"job", "j"}, {"executor", host}, {"host", host}}, 0, 10, {{"span.slots", reported}});
      for (int i = 0; i < 5; ++i)
        spans.add("task", spark_task("0", i + (host[0] == 'b' ? 5 : 0), host), 2 * i, 2.005,
                  {{"span.outcome", 0}, {"span.gc.time", 1000}});
    }
    const jobs::JobData data = spans.take();
    const auto path = critical_path(data, 0);
    REQUIRE(path);
    check_law(*path);
    CHECK(tasks_of(data, *path) == "56789-");
    const auto all = what_if(data, 0, 10.1);
    REQUIRE(all);
    CHECK(all->replayed == doctest::Approx(10.1).epsilon(0.01));
    CHECK(predicted(*all, "no garbage collection") == doctest::Approx(5.1).epsilon(0.01));
  }
}

TEST_CASE("an executor has as many slots as it reports, however long the ends of its tasks are logged late") {
  Spans spans;
  spans.add("executor", {{"job", "j"}, {"executor", "a"}, {"host", "a"}}, 0, 20, {{"span.slots", 3}});
  for (int i = 0; i < 3; ++i) spans.add("task", spark_task("0", i, "a"), 0, 5 + 0.1 * i);
  for (int i = 3; i < 6; ++i) spans.add("task", spark_task("0", i, "a"), 4, 6);
  const jobs::JobData data = spans.take();
  const jobs::Slots slots{jobs::JobTasks(data, 0)};
  CHECK(slots.counts().begin()->second == 3);
  CHECK(std::set<uint32_t>{slots.before(3), slots.before(4), slots.before(5)} == std::set<uint32_t>{0, 1, 2});
  Spans one;
  one.add("executor", {{"job", "j"}, {"executor", "a"}, {"host", "a"}}, 0, 20, {{"span.slots", 3}});
  one.add("task", spark_task("0", 0, "a"), 0, 5);
  const jobs::JobData single = one.take();
  CHECK(jobs::Slots{jobs::JobTasks(single, 0)}.counts().begin()->second == 3);
}

TEST_CASE("the path goes back over slots and stages to the job's start") {
  Spans spans;
  spans.add("job", {{"job", "j"}, {"framework", "spark"}}, 0, 20, {{"span.outcome", 0}});
  spans.add("task", spark_task("0", 1, "a"), 1, 4, {{"span.outcome", 0}});
  spans.add("task", spark_task("0", 2, "b"), 1, 2, {{"span.outcome", 0}});
  spans.add("task", spark_task("0", 3, "b"), 3.5, 5.5, {{"span.outcome", 0}, {"span.gc.time", 500}});  // after 2, until 9
  spans.add("task", spark_task("1", 4, "a"), 10, 8, {{"span.outcome", 0}});                            // after all of stage 0
  spans.add("phase", Spans::with(spark_task("1", 4, "a"), "phase", "shuffle read"), 10, 3);
  spans.add("task", spark_task("1", 5, "b"), 10, 5, {{"span.outcome", 0}});
  const jobs::JobData data = spans.take();
  const auto path = critical_path(data, 0);
  REQUIRE(path);
  check_law(*path);
  CHECK(tasks_of(data, *path) == "-2-3-4-");
  CHECK(path->steps[1].after == jobs::PathStep::After::start);
  CHECK(path->steps[3].after == jobs::PathStep::After::slot);
  CHECK(path->steps[5].after == jobs::PathStep::After::stage);
  CHECK(parts_of(*path) == std::map<std::string, double>{{"before the first task", 1},
                                                         {"stage 0 task", 7},
                                                         {"stage 0 garbage collection", 0.5},
                                                         {"between tasks", 1.5},
                                                         {"stage 1 shuffle read", 3},
                                                         {"stage 1 task", 5},
                                                         {"after the last task", 2}});
}

TEST_CASE("a reduce that started early waited for the last map") {
  Spans spans;
  spans.add("task", Spans::task("map", "m1", "a"), 0, 10, {{"span.outcome", 0}});
  spans.add("task", Spans::task("map", "m2", "b"), 0, 4, {{"span.outcome", 0}});
  spans.add("task", Spans::task("reduce", "r1", "b"), 4, 12, {{"span.outcome", 0}});
  const jobs::JobData data = spans.take();
  const auto path = critical_path(data, 0);
  REQUIRE(path);
  check_law(*path);
  CHECK(tasks_of(data, *path) == "m1r1");
  CHECK(parts_of(*path) == std::map<std::string, double>{{"map task", 10}, {"reduce task", 6}});
}

TEST_CASE("a running job, and one without tasks, have no path") {
  Spans spans;
  spans.add("job", {{"job", "j"}}, 0, -1);
  spans.add("task", spark_task("0", 1, "a"), 1, 4, {{"span.outcome", 0}});
  CHECK_FALSE(critical_path(spans.take(), 0));
  Spans without;
  without.add("job", {{"job", "j"}}, 0, 5, {{"span.outcome", 0}});
  CHECK_FALSE(critical_path(without.take(), 0));
}

TEST_CASE("whatever the job, the parts add up to its length") {
  std::mt19937 dice(17);  // NOLINT(cert-msc51-cpp): the same in each run
  const auto random = [&dice](double maximum) { return std::uniform_real_distribution<double>(0, maximum)(dice); };
  for (int run = 0; run < 200; ++run) {
    Spans spans;
    if (run % 3 != 0) spans.add("job", {{"job", "j"}}, random(5), 20 + random(40), {{"span.outcome", 0}});
    for (int i = 0; i < 30; ++i) {
      const Tags task = spark_task(std::to_string(dice() % 3), i, std::string(1, static_cast<char>('a' + dice() % 3)));
      const double start = random(40), length = 0.001 + random(15);
      spans.add("task", task, start, length,
                {{"span.outcome", dice() % 4 == 0 ? 1 : 0}, {"span.gc.time", static_cast<int64_t>(dice() % 20000)}});
      for (int phase = 0; phase < static_cast<int>(dice() % 4); ++phase)
        spans.add("phase", Spans::with(task, "phase", "p" + std::to_string(phase % 2)), start + random(length), random(length));
    }
    const jobs::JobData data = spans.take();
    const auto path = critical_path(data, 0);
    if (path) check_law(*path);
    CHECK((path.has_value() || run % 3 != 0));
  }
}

TEST_CASE("predictions of a job whose schedule is known") {
  Spans spans;
  // Two executors with one slot each take the next of 12 tasks of 4 s; c is twice as slow; each task has 1 s of collections.
  std::map<std::string, double> free{{"a", 0}, {"b", 0}, {"c", 0}};
  double end = 0;
  for (int i = 0; i < 20; ++i) {
    auto next = free.begin();
    for (auto one = free.begin(); one != free.end(); ++one)
      if (one->second < next->second) next = one;
    const double length = next->first == "c" ? 8 : 4;
    spans.add("task", spark_task("0", i, next->first), next->second, length,
              {{"span.outcome", 0}, {"span.gc.time", next->first == "c" ? 2000 : 1000}});
    next->second += length;
    end = std::max(end, next->second);
  }
  CHECK(end == 32);
  const jobs::JobData data = spans.take();
  const auto all = what_if(data, 0, end);
  REQUIRE(all);
  CHECK_FALSE(all->is_pinned);
  CHECK(all->replayed == doctest::Approx(32));
  CHECK_FALSE(all->is_rough);
  CHECK(predicted(*all, "node c as fast as the others") == doctest::Approx(28));  // 7 rounds of 3 tasks
  CHECK(predicted(*all, "no garbage collection") == doctest::Approx(24));         // three quarters of all
  CHECK(predicted(*all, "one executor more") == doctest::Approx(24));             // 6 + 6 + 6 + 3 tasks
  CHECK(predicted(*all, "no remote reads") == -1);                                // unknown
}

TEST_CASE("tasks that are bound to their nodes stay there") {
  Spans spans;
  for (int i = 0; i < 18; ++i) {
    const std::string host(1, static_cast<char>('a' + i % 3));
    const double length = host == "c" ? 6 : 3;
    spans.add("task", spark_task("0", i, host), i / 3 * length, length, {{"span.outcome", 0}});
  }
  const jobs::JobData data = spans.take();
  const auto all = what_if(data, 0, 36);
  REQUIRE(all);
  CHECK(all->is_pinned);
  CHECK(all->replayed == doctest::Approx(36));
  CHECK(predicted(*all, "node c as fast as the others") == doctest::Approx(18));
}

TEST_CASE("a stage with few tasks on a slow node becomes as fast as its other stages") {
  Spans spans;
  for (int i = 0; i < 18; ++i) {
    const std::string host(1, static_cast<char>('a' + i % 3));
    const double length = host == "c" ? 6 : 3;
    spans.add("task", spark_task("0", i, host), i / 3 * length, length, {{"span.outcome", 0}});
  }
  for (int i = 0; i < 6; ++i) {
    const std::string host(1, static_cast<char>('a' + i % 3));
    const double length = host == "c" ? 20 : 10;
    spans.add("task", spark_task("1", 100 + i, host), 36 + i / 3 * length, length, {{"span.outcome", 0}});
  }
  const jobs::JobData data = spans.take();
  const auto all = what_if(data, 0, 76);
  REQUIRE(all);
  CHECK(all->replayed == doctest::Approx(76));
  CHECK(predicted(*all, "node c as fast as the others") == doctest::Approx(38));
}

// Four nodes, whose reduces fetch from all of them at once for 2 s; c takes three times as long for everything, also to answer.
TEST_CASE("tasks of other nodes do not wait for a slow node that became as fast as they are") {
  Spans spans;
  const std::string hosts = "abcd";
  for (int i = 0; i < 16; ++i) {
    const std::string host(1, hosts[static_cast<size_t>(i % 4)]);
    const double length = host == "c" ? 9 : 3;
    spans.add("task", spark_task("map", i, host), i / 4 * length, length, {{"span.outcome", 0}});
  }
  for (int i = 0; i < 4; ++i) {
    const std::string host(1, hosts[static_cast<size_t>(i)]);
    const double fetch = 6, work = host == "c" ? 6 : 2;
    const Tags task = spark_task("reduce", 100 + i, host);
    spans.add("task", task, 36, fetch + work, {{"span.outcome", 0}});
    spans.add("phase", Spans::with(task, "phase", "shuffle"), 36, fetch);
    spans.add("phase", Spans::with(task, "phase", "reduce"), 36 + fetch, work);
  }
  const jobs::JobData data = spans.take();
  const auto all = what_if(data, 0, 48);
  REQUIRE(all);
  CHECK(all->replayed == doctest::Approx(48));
  CHECK(predicted(*all, "node c as fast as the others") == doctest::Approx(16));  // 4 maps of 3 s, 2 s to fetch, 2 s of work
}

TEST_CASE("remote tasks get the time of local ones of their stage") {
  Spans spans;
  for (int i = 0; i < 12; ++i) {
    const std::string host(1, static_cast<char>('a' + i % 2));
    const bool is_remote = i % 4 >= 2;
    spans.add("task", spark_task("0", i, host), i / 2 * 10, is_remote ? 10 : 5,
              {{"span.outcome", 0}, {"span.bytes", 100}, {"span.bytes.remote", is_remote ? 100 : 0}});
  }
  const jobs::JobData data = spans.take();
  const auto all = what_if(data, 0, 60);
  REQUIRE(all);
  CHECK(predicted(*all, "no remote reads") >= 0);
  CHECK(predicted(*all, "no remote reads") < 50);
}

}  // namespace atalaya::bottleneck::test
