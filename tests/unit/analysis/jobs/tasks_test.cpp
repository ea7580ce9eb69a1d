// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <deque>
#include <string>
#include <vector>

#include "plugins/shared/analysis/jobs/read/read_jobs.h"
#include "tests/unit/analysis/jobs/jobs.h"

namespace atalaya::bottleneck::test {
namespace {

TEST_CASE("a task is its span, and its phases are the sums of theirs") {
  Spans spans;
  const Tags task = Spans::task("map", "t1", "n1");
  // In the order of their start a phase may come before its task.
  spans.add("phase", Spans::with(Spans::with(task, "phase", "read"), "source", "network"), 0, 1, {{"span.bytes", 100}});
  spans.add("phase", Spans::with(Spans::with(task, "phase", "read"), "source", "disk"), 1, 1, {{"span.bytes", 300}});
  spans.add("phase", Spans::with(task, "phase", "spill"), 3, 1, {{"span.bytes", 50}});
  spans.add("phase", Spans::with(task, "phase", "spill"), 5, 2, {{"span.bytes", 60}});
  spans.add("task", task, 0, 8, {{"span.outcome", 0}, {"span.gc.time", 250}});
  spans.add("job", {{"job", "j"}, {"name", "wordcount"}, {"framework", "hadoop"}}, 0, 9, {{"span.outcome", 0}});
  const jobs::JobData data = spans.take();
  REQUIRE(data.tasks.size() == 1);
  const jobs::Task &one = data.tasks[0];
  CHECK(one.task() == "t1");
  CHECK(one.attempt() == "t1");
  CHECK(one.outcome == jobs::Outcome::succeeded);
  CHECK(one.work.duration_ns == 8 * kSecond);
  CHECK(one.work.bytes == 400);  // it reports no bytes itself: the maximum of its phases
  CHECK(one.work.remote == 100);
  CHECK(one.gc_ms == 250);
  REQUIRE(data.phases.size() == 2);
  CHECK(data.name(data.phases[0].phase) == "read");
  CHECK(data.phases[0].work.remote == 100);
  CHECK(data.phases[1].work.bytes == 110);
  CHECK(data.phases[1].busy_ns == 3 * kSecond);
  CHECK(data.phases[1].work.duration_ns == 4 * kSecond);
  REQUIRE(data.jobs.size() == 1);
  CHECK(data.name(data.jobs[0].name) == "wordcount");
}

TEST_CASE("a task that only its phases mention has their time") {
  Spans spans;
  const Tags task = Spans::task("map", "t1", "n1");
  spans.add("phase", Spans::with(task, "phase", "read"), 2, 3, {{"span.bytes", 10}});
  spans.add("phase", Spans::with(task, "phase", "map"), 5, 4, {{"span.bytes", 10}});
  const jobs::JobData data = spans.take();
  CHECK(data.tasks[0].work.start_ns == kT0 + 2 * kSecond);
  CHECK(data.tasks[0].work.duration_ns == 7 * kSecond);
  CHECK(data.tasks[0].outcome == jobs::Outcome::unknown);
  CHECK(data.tasks[0].is_done());
}

TEST_CASE("running, failed and killed tasks are not compared") {
  Spans spans;
  spans.add("task", Spans::task("map", "open", "n1"), 0, -1, {{"span.bytes", 10}});
  spans.add("task", Spans::task("map", "failed", "n1"), 0, 1, {{"span.bytes", 10}, {"span.outcome", 1}});
  spans.add("task", Spans::task("map", "killed", "n1"), 0, 1, {{"span.bytes", 10}, {"span.outcome", 2}});
  spans.add("task", Spans::task("map", "good", "n1"), 0, 1, {{"span.bytes", 10}});
  const jobs::Analysis all = analysed(spans);
  CHECK(group_of(all, "map", "").entries.size() == 1);
  REQUIRE(all.totals.size() == 1);
  CHECK(all.totals[0].tasks == 4);
  CHECK(all.totals[0].failed == 1);
  CHECK(all.totals[0].killed == 1);
  CHECK(all.totals[0].running == 1);
  CHECK(all.totals[0].seconds == 0);  // it is not over
  CHECK(outcome_text(all.data.tasks[0].outcome) == "running");
}

TEST_CASE("a task without an end is not running any more when its job is over") {
  Spans spans;
  spans.add("task", Spans::task("map", "open", "n1"), 0, -1);
  spans.add("task", Spans::task("map", "good", "n1"), 0, 1, {{"span.bytes", 10}, {"span.outcome", 0}});
  spans.add("job", {{"job", "j"}}, 0, 9, {{"span.outcome", 1}});
  const jobs::Analysis all = analysed(spans);
  CHECK(all.totals[0].running == 0);
  CHECK(all.totals[0].seconds == 9);
  CHECK(all.data.tasks[0].outcome == jobs::Outcome::unknown);
  CHECK_FALSE(all.data.tasks[0].is_done());
  CHECK(all.notes.back() == "1 tasks have no end although their jobs are over: their outcome is not known");
}

TEST_CASE("a second attempt of an application counts from 0 again: its later tasks count, with their own phases") {
  for (const bool later_first : {false, true}) {
    Spans spans;
    const Tags old = Spans::task("0", "0.0", "n1"), again = Spans::task("0", "0.0", "n2");
    const auto add_old = [&] {
      spans.add("task", old, 0, 9, {{"span.bytes", 10}, {"span.outcome", 0}});
      spans.add("phase", Spans::with(old, "phase", "compute"), 1, 8, {{"span.bytes", 10}});
    };
    if (!later_first) add_old();
    spans.add("phase", Spans::with(again, "phase", "compute"), 1001, 2, {{"span.bytes", 30}});
    spans.add("task", again, 1000, 4, {{"span.bytes", 30}, {"span.outcome", 0}});
    if (later_first) add_old();
    const jobs::JobData data = spans.take();
    REQUIRE(data.tasks.size() == 1);
    CHECK(data.reruns == 1);
    CHECK(data.tasks[0].work.start_ns == kT0 + 1000 * kSecond);
    CHECK(data.name(data.tasks[0].host) == "n2");
    REQUIRE(data.phases.size() == 1);
    CHECK(data.phases[0].busy_ns == 2 * kSecond);
    CHECK(data.phases[0].work.bytes == 30);
  }
}

// Spans by seconds after kT0; the tags of a selection are not looked at.
class SpanStore : public query::test::MemoryStore {
 public:
  struct One {
    std::string name;
    Tags tags;
    int start, length;
  };
  std::vector<One> all;
  void spans(const store::Selection &selection, const std::function<void(const store::Span &)> &visit) override {
    for (const One &one : all) {
      const int64_t start = kT0 + one.start * kSecond, end = one.length < 0 ? INT64_MAX : start + one.length * kSecond;
      if (start > selection.range.to_ns || end <= selection.range.from_ns) continue;
      if (!selection.metrics.empty() && selection.metrics[0] != one.name) continue;
      visit({start, one.length < 0 ? -1 : one.length * kSecond, 0, one.tags, one.name, {}});
    }
  }
};

TEST_CASE("spans left open by an ended job do not belong to later days") {
  SpanStore store;
  const auto task = [](const std::string &job, const std::string &id) {
    return Spans::with(Spans::task("map", id, "n"), "job", job);
  };
  store.all = {{"job", {{"job", "over"}}, 0, 50},      {"task", task("over", "left"), 10, -1},
               {"job", {{"job", "crashed"}}, 0, -1},   {"task", task("crashed", "left"), 10, -1},
               {"job", {{"job", "live"}}, 20, -1},     {"task", task("live", "long"), 30, -1},
               {"task", task("live", "short"), 110, 5}};
  query::Budget budget({});
  const jobs::JobData data = jobs::read_jobs({}, {}, {kT0 + 100 * kSecond, kT0 + 200 * kSecond}, store, budget);
  std::vector<std::string> jobs;
  for (const jobs::Job &job : data.jobs) jobs.push_back(data.name(job.id));
  std::sort(jobs.begin(), jobs.end());
  CHECK(jobs == std::vector<std::string>{"crashed", "live"});
  CHECK(data.tasks.size() == 3);
  CHECK(data.idle == std::vector<std::string>{"crashed"});
}

TEST_CASE("attempts at a task are distinct, and so are equal tasks of two jobs") {
  Spans spans;
  Tags tags = Spans::task("map", "t", "n1");
  spans.add("task", tags, 0, 1);
  tags["attempt"] = "t_1";
  spans.add("task", tags, 0, 1);
  tags["job"] = "k";
  spans.add("task", tags, 0, 1);
  const jobs::JobData data = spans.take();
  CHECK(data.tasks.size() == 3);
  CHECK(data.jobs.size() == 2);
}

TEST_CASE("unexpected numbers do no harm, and spans without a task are counted") {
  Spans spans;
  spans.add("task", {{"job", "j"}}, 0, 1);
  spans.add("phase", Spans::task("map", "t", "n"), 0, 1);
  spans.add("phase", Spans::with(Spans::task("map", "t", "n"), "phase", "read"), 4e9, 9e9, {{"span.bytes", -7}});
  spans.add("phase", Spans::with(Spans::task("map", "t", "n"), "phase", "read"), 0, 1, {{"span.bytes", INT64_MAX}});
  spans.add("phase", Spans::with(Spans::task("map", "t", "n"), "phase", "read"), 0, 0, {{"span.bytes", INT64_MAX}});
  spans.add("experiment", {{"experiment", "e"}}, 0, 1);
  const jobs::JobData data = spans.take();
  CHECK(data.without_identity == 2);
  CHECK(data.tasks.size() == 1);
  CHECK(data.phases.size() == 1);
}

TEST_CASE("an open span has no end, nor has one of foreign numbers") {
  const Tags tags;
  const auto end = [&](int64_t start_ns, int64_t duration_ns) {
    return jobs::end_of({start_ns, duration_ns, 0, tags, "task", {}});
  };
  CHECK(end(5, 0) == 5);
  CHECK(end(5, 7) == 12);
  CHECK_FALSE(end(5, -1).has_value());
  CHECK_FALSE(end(5, INT64_MAX).has_value());
}

TEST_CASE("regions are graded by their cost") {
  Spans spans;
  const double seconds[] = {100, 60, 20, 5, 1};
  for (int i = 0; i < 5; ++i)
    for (int run = 0; run < 2; ++run)
      spans.add("region", {{"job", "j"}, {"name", "r" + std::to_string(i)}, {"host", "n"}}, 0, seconds[i] / 2,
                {{"span.bytes", 1024}});
  spans.add("region", {{"job", "j"}, {"name", "r4"}, {"host", "n"}}, 0, -1);
  const jobs::Analysis all = analysed(spans);
  REQUIRE(all.regions.size() == 5);
  const char *classes[] = {"very severe", "severe", "moderate", "slight", "negligible"};
  for (size_t i = 0; i < 5; ++i) {
    CHECK(severity_text(all.regions[i].severity) == classes[i]);
    CHECK(all.regions[i].critical == (i < 2));
    CHECK(all.regions[i].count == 2);
  }
  REQUIRE(all.findings.size() == 2);
  CHECK(all.findings[0].summary == "critical code region r0: very severe, 100 s in 2 runs, 54 % of all regions");
}

}  // namespace
}  // namespace atalaya::bottleneck::test
