// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "plugins/shared/analysis/jobs/read/read_jobs.h"
#include "plugins/shared/analysis/jobs/reasons/resource.h"
#include "tests/unit/analysis/jobs/jobs.h"

namespace atalaya::bottleneck::test {
namespace {

constexpr store::Range kAnyTime{0, INT64_MAX};

jobs::Analysis read(SpanStore &store, const std::vector<std::string> &ids, const query::Limits &limits = {}) {
  query::Budget budget(limits);
  return jobs::analyse(jobs::read_jobs(ids, {}, {kAnyTime.from_ns, kAnyTime.to_ns}, store, budget), {}, store, budget);
}

// Of each job ten tasks of 10 s, one after the other on n1.
void add_jobs(SpanStore &store, const std::vector<std::string> &ids, const std::string &host = "n1") {
  for (size_t job = 0; job < ids.size(); ++job)
    for (int i = 0; i < 10; ++i) {
      Tags task = Spans::task("map", "m" + std::to_string(i), host);
      task["job"] = ids[job];
      store.add_span("task", task, 1000.0 * static_cast<double>(job) + 10 * i, 10, {{"span.bytes", 1024}});
    }
}

void add_region(SpanStore &store, const std::string &name, const std::string &host, double start, double length) {
  store.add_span("region", {{"host", host}, {"pid", "7"}, {"process", "java"}, {"name", name}}, start, length);
}

std::vector<std::string> names_of(const jobs::Analysis &all) {
  std::vector<std::string> names;
  for (const jobs::RegionCost &region : all.regions) names.push_back(all.data.name(region.name));
  return names;
}

TEST_CASE("a job that only its tasks, phases or regions mention is found in the whole store") {
  SpanStore store;
  add_jobs(store, {"of-tasks"});
  store.add_span("phase", {{"job", "of-phases"}, {"task", "t"}, {"phase", "read"}}, 0, 1);
  store.add_span("region", {{"job", "of-regions"}, {"name", "r"}}, 0, 1);
  store.add_span("job", {{"job", "of-itself"}}, 0, 1);
  const auto error = [&](const std::string &id) {
    query::Budget budget({});
    try {
      jobs::read_jobs({id}, {}, {kT0 + 5000 * kSecond, kT0 + 6000 * kSecond}, store, budget);
    } catch (const query::Wrong &wrong) {
      return std::string(wrong.what());
    }
    return std::string();
  };
  for (const char *id : {"of-tasks", "of-phases", "of-regions", "of-itself"})
    CHECK(error(id) == "job \"" + std::string(id) +
                           "\" is in the store memory, but not in this range or with these tags; omit --from, --to or --tag");
  CHECK(error("of-taks") ==
        "job \"of-taks\" is not in the store memory; did you mean \"of-tasks\"?; --job all selects all jobs of a range");
}

TEST_CASE("tasks of no job are no job, but can be compared with each other") {
  SpanStore store;
  add_jobs(store, {"one"});
  for (const char *id : {"query.1.2", "query.1.3"})
    store.add_span("task", {{"stage", "query"}, {"attempt", id}, {"host", "n1"}}, 5, 1);
  store.add_span("phase", {{"attempt", "query.1.2"}, {"phase", "read"}, {"host", "n1"}}, 5, 1);
  const auto jobs_of = [&](jobs::WithoutJob of_no_job) {
    query::Budget budget({});
    const jobs::JobData data = read_jobs({}, {}, {kAnyTime.from_ns, kAnyTime.to_ns}, store, budget, of_no_job);
    std::vector<std::string> found;
    for (const jobs::Task &task : data.tasks) found.push_back(data.name(data.jobs[task.job].id));
    CHECK(data.jobs.size() == std::set<std::string>(found.begin(), found.end()).size());
    return found;
  };
  const std::vector<std::string> of_one(10, "one");
  CHECK(jobs_of(jobs::WithoutJob::omitted) == of_one);
  std::vector<std::string> all = of_one;
  all.insert(all.end(), 2, "");
  CHECK(jobs_of(jobs::WithoutJob::read) == all);
  CHECK(read(store, {}).totals.size() == 1);
}

TEST_CASE("a job has the regions without a job of its hosts and time") {
  SpanStore store;
  add_jobs(store, {"first", "second"});
  add_region(store, "of first", "n1", 5, 40);
  add_region(store, "of second", "n1", 1050, 60);  // it ends after the job
  add_region(store, "elsewhere", "n2", 5, 40);
  add_region(store, "between", "n1", 500, 40);
  add_region(store, "open", "n1", 5, -1);
  store.add_span("region", {{"host", "n1"}, {"job", "third"}, {"name", "of third"}}, 5, 40);
  const jobs::Analysis all = read(store, {"first"});
  CHECK(names_of(all) == std::vector<std::string>{"of first"});
  CHECK(all.notes.back() == "1 runs of code regions have no job: they ran on its nodes in its time, and may belong to another job");
  const jobs::Analysis both = read(store, {"first", "second"});
  CHECK(names_of(both) == std::vector<std::string>{"of second", "of first"});
  CHECK(both.regions[0].seconds == doctest::Approx(50));
  CHECK(read(store, {}).regions.size() == 5);  // all of the time
}

TEST_CASE("of a region without a job the part within the time of jobs counts") {
  SpanStore store;
  add_jobs(store, {"first", "second"});
  const Tags daemon = {{"host", "n1"}, {"process", "java"}, {"name", "serve"}};
  store.add_span("region", daemon, -50'000, 86'400, {{"span.bytes", 1 << 30}});
  const jobs::Analysis all = read(store, {"first"});
  REQUIRE(all.regions.size() == 1);
  CHECK(all.regions[0].seconds == doctest::Approx(100));
  CHECK(all.regions[0].of_tasks == doctest::Approx(1));
  CHECK_FALSE(all.regions[0].has_bytes);
  const jobs::Analysis both = read(store, {"first", "second"});  // of each its own part
  REQUIRE(both.regions.size() == 2);
  for (const jobs::RegionCost &region : both.regions) CHECK(region.seconds == doctest::Approx(100));
  CHECK(both.regions[0].job != both.regions[1].job);
  CHECK(both.data.regions_without_job == 1);
  store.add_span("region", daemon, 10, 5, {{"span.bytes", 1024}});
  const jobs::Analysis again = read(store, {"first"});
  CHECK(again.regions.at(0).count == 2);
  CHECK(again.regions[0].bytes == 1024);
}

TEST_CASE("regions of several jobs are graded by job") {
  SpanStore store;
  add_jobs(store, {"first", "second"});
  const auto add = [&](const Tags &job, const std::string &name, double start, double length) {
    Tags tags = {{"host", "n1"}, {"name", name}};
    tags.insert(job.begin(), job.end());
    store.add_span("region", tags, start, length, {{"span.bytes", 1024}});
  };
  add({{"job", "first"}}, "parse", 10, 40);
  add({{"job", "first"}}, "parse", 50, 20);
  add({{"job", "first"}}, "write", 70, 5);
  add({{"job", "second"}}, "parse", 1010, 4);
  add({{"job", "second"}}, "write", 1050, 30);
  add({}, "parse", 2000, 50);  // of no job's time
  const auto data = [](const jobs::Analysis &all) {
    std::vector<std::string> rows;
    for (const jobs::RegionCost &region : all.regions)
      rows.push_back((region.job == jobs::kNoJob ? "" : all.data.name(all.data.jobs[region.job].id)) + " " +
                     all.data.name(region.name) + " " + std::to_string(region.count) + " " + jobs::short_text(region.seconds) +
                     " " + jobs::short_text(region.bytes) + " " + jobs::percent_text(region.share) + " " +
                     jobs::percent_text(region.of_tasks) + (region.critical ? " critical" : ""));
    return rows;
  };
  const std::vector<std::string> first = {"first parse 2 60 2048 92 % 60 % critical", "first write 1 5 1024 7.7 % 5.0 %"};
  const std::vector<std::string> second = {"second write 1 30 1024 88 % 30 % critical", "second parse 1 4 1024 12 % 4.0 %"};
  CHECK(data(read(store, {"first"})) == first);
  CHECK(data(read(store, {"second"})) == second);
  // As --compare asks: side by side, and each as it is alone.
  const jobs::Analysis both = read(store, {"first", "second"});
  CHECK(data(both) == std::vector<std::string>{first[0], second[0], first[1], second[1]});
  REQUIRE(both.findings.size() == 2);
  CHECK(both.data.name(both.data.jobs[both.findings[0].job].id) == "first");
  CHECK(both.findings[0].summary ==
        "critical code region parse: very severe, 60 s in 2 runs, 92 % of all regions, 60 % of the time of tasks on its nodes");
  CHECK(both.data.name(both.data.jobs[both.findings[1].job].id) == "second");
  // A read of the whole range also has the regions without a job, next to all tasks.
  CHECK(data(read(store, {})) ==
        std::vector<std::string>{first[0], " parse 1 50 1024 100 % 25 % critical", second[0], first[1], second[1]});
}

// Windows of 1 s on n1, from a source that counts runs without spans: the same number in each window.
void add_unseen(SpanStore &store, const std::string &metric, Tags tags, int first, int last, double runs) {
  query::test::Values values;
  for (int second = first; second <= last; ++second) values.emplace_back(second, runs);
  tags.try_emplace("host", "n1");
  store.add(metric, tags, values);
}

std::string unseen(const std::string &regions) {
  return "code regions " + regions +
         " had runs that were too short or too many to be spans (region.short, region.dropped): their cost is higher than shown; "
         "region.time includes them";
}

TEST_CASE("a note names the regions that had runs that are in no span") {
  SpanStore store;
  store.summarize = true;
  add_jobs(store, {"first", "second"});
  add_region(store, "hot", "n1", 5, 40);
  const std::vector<std::string> before = read(store, {"first"}).notes;
  add_unseen(store, "region.short", {{"name", "never"}}, 0, 100, 0);
  add_unseen(store, "region.dropped", {{"name", "never"}}, 0, 100, 0);
  add_unseen(store, "region.short", {{"name", "elsewhere"}, {"host", "n2"}}, 0, 100, 7);
  add_unseen(store, "region.short", {{"name", "between"}}, 500, 510, 7);
  add_unseen(store, "region.short", {{"name", "of third"}, {"job", "third"}}, 0, 100, 7);
  add_unseen(store, "region.calls", {{"name", "seen"}}, 0, 100, 7);
  CHECK(read(store, {"first"}).notes == before);
  add_unseen(store, "region.short", {{"name", "hot"}}, -20, 50, 7);
  const jobs::Analysis first = read(store, {"first"});
  CHECK(first.notes.back() == unseen("\"hot\""));
  CHECK(first.regions.at(0).count == 1);
  CHECK(first.regions[0].seconds == doctest::Approx(40));
  add_unseen(store, "region.dropped", {{"name", "hot"}, {"job", "second"}}, 1001, 1010, 7);
  add_unseen(store, "region.dropped", {{"name", "parse"}, {"job", "second"}, {"host", "n2"}}, 1001, 1010, 7);
  CHECK(read(store, {"first"}).notes == first.notes);
  CHECK(read(store, {"second"}).notes.back() == unseen("\"hot\", \"parse\""));
  CHECK(read(store, {"first", "second"}).notes.back() == unseen("\"hot\", \"parse\""));  // without the time between the jobs
  CHECK(read(store, {}).notes.back() == unseen("\"between\", \"elsewhere\", \"hot\" and 2 more"));
}

TEST_CASE("of regions only the metrics of hosts whose name is clear are looked at") {
  SpanStore store;
  add_jobs(store, {"first"}, "n1.example.org");
  const std::vector<std::string> without = read(store, {"first"}).notes;
  add_unseen(store, "region.short", {{"name", "hot"}}, 1, 10, 7);
  CHECK(read(store, {"first"}).notes.back() == unseen("\"hot\""));
  add_unseen(store, "region.short", {{"name", "hot"}, {"host", "n1.other.org"}}, 1, 10, 7);
  CHECK(read(store, {"first"}).notes == without);
}

TEST_CASE("runs of regions that were rolled up are of the time in which their windows were") {
  class RolledStore : public SpanStore {
   public:
    // Windows of 1 s that ended from the first to the last of these seconds, reported at the end of their step.
    void scan(std::span<const store::Series> series, const store::Range &, store::PointVisitor &visitor) override {
      const int64_t end = kT0 + 1800 * kSecond, length = 20 * kSecond;
      const double value = 5000;
      store::Summary summary;
      summary.count = 20;
      summary.max = 300;
      summary.first_ns = kT0 + first * kSecond;
      summary.last_ns = kT0 + (first + 19) * kSecond;
      for (size_t i = 0; i < series.size(); ++i) visitor.rolled(i, summary, {{&end, 1}, {&length, 1}, {&value, 1}, {}});
    }
    int64_t first = 0;
  };
  RolledStore store;
  add_jobs(store, {"first"});
  add_unseen(store, "region.short", {{"name", "hot"}}, 1, 1, 0);
  const auto notes = [&](int64_t first) {
    store.first = first;
    return read(store, {"first"}).notes;
  };
  std::vector<std::string> with = notes(101);
  CHECK(notes(-19) == with);
  with.push_back(unseen("\"hot\""));
  CHECK(notes(81) == with);
}

TEST_CASE("whether regions had runs in no span may not be known, and that costs the rest nothing") {
  class FailingStore : public SpanStore {
   public:
    void scan(std::span<const store::Series> series, const store::Range &range, store::PointVisitor &visitor) override {
      if (!series.empty()) throw store::Error(store::Cause::permanent, "the disk has failed");
      SpanStore::scan(series, range, visitor);
    }
  };
  FailingStore store;
  add_jobs(store, {"first"});
  add_region(store, "slow", "n1", 5, 50);
  for (const char *metric : {"region.short", "region.dropped"}) add_unseen(store, metric, {{"name", "slow"}}, 1, 90, 10);
  const auto check = [&](const query::Limits &limits, const std::string &why) {
    const jobs::Analysis all = read(store, {"first"}, limits);
    REQUIRE(all.findings.size() == 1);
    CHECK(all.regions.at(0).count == 1);
    CHECK(all.notes.back() == "cannot determine whether code regions had runs without spans: " + why);
  };
  check({}, "the disk has failed");
  check({.series = 1}, "more than 1 series count them");
}

TEST_CASE("more runs of regions than may be held do no harm") {
  SpanStore store;
  add_jobs(store, {"first"});
  for (int i = 0; i < 200; ++i) {
    add_region(store, "often", "n1", 0.3 * i, 0.2);
    add_region(store, "elsewhere " + std::to_string(i), "n2", 0.3 * i, 0.2);
  }
  const query::Limits few{.points = 50};
  const jobs::Analysis all = read(store, {"first"}, few);
  CHECK(names_of(all) == std::vector<std::string>{"often"});
  CHECK(all.regions[0].count == 200);
  for (int i = 0; i < 50; ++i) add_region(store, "here " + std::to_string(i), "n1", i, 0.2);
  const jobs::Analysis without = read(store, {"first"}, few);
  CHECK(without.data.tasks.size() == 10);
  CHECK(without.regions.empty());
  CHECK(without.notes.back() ==
        "code regions without a job are ignored: reading those of the job's nodes and time exceeds half of the limits; "
        "raise --max-points and --timeout");
}

TEST_CASE("counters are left out where they are more than may be held, and the finding stays") {
  SpanStore store;
  for (int i = 0; i < 40; ++i) {
    const int node = i % 4;
    Counts counts = {{"span.bytes", 1 << 20}, {"span.outcome", 0}, {"span.spills", node == 3 ? 9 : i % 3}};
    for (int number = 0; number < 100; ++number) counts.emplace_back("counter.c" + std::to_string(number), i * number % 7);
    store.add_span("task", Spans::task("map", "m" + std::to_string(i), "n" + std::to_string(node)), 10.0 * (i / 4.0),
                   (node == 3 ? 20 : 10) * (1 + 0.01 * (i % 5)), counts);
  }
  const auto named = [](const jobs::Analysis &all, const std::string &name) {
    const auto &metrics = all.findings.at(0).metrics.all;
    return std::any_of(metrics.begin(), metrics.end(), [&](const jobs::Coefficient &one) { return one.name == name; });
  };
  const jobs::Analysis whole = read(store, {"j"});
  CHECK(named(whole, "span.spills"));
  CHECK(named(whole, "counter.c1"));
  CHECK(whole.notes.empty());
  const jobs::Analysis part = read(store, {"j"}, {.points = 2000});
  CHECK(part.findings.at(0).tasks == whole.findings.at(0).tasks);
  CHECK(named(part, "span.spills"));
  CHECK_FALSE(named(part, "counter.c1"));
  REQUIRE(part.notes.size() == 1);
  CHECK(part.notes[0].starts_with("job j: counters of tasks were not read: the answer would hold more than "));
}

TEST_CASE("regions of a host by its short name are of the node by its full one") {
  SpanStore store;
  add_jobs(store, {"first"}, "n1.example.org");
  add_region(store, "short", "n1", 5, 40);
  const jobs::Analysis all = read(store, {"first"});
  CHECK(names_of(all) == std::vector<std::string>{"short"});
  CHECK(all.regions[0].of_tasks == doctest::Approx(0.4));
  CHECK(all.notes.back() == "code regions: hosts with the same first label are treated as one: \"n1\" for \"n1.example.org\"");
}

TEST_CASE("a region is critical by the tasks' time, not by being the only one") {
  SpanStore store;
  add_jobs(store, {"first"});
  add_region(store, "small", "n1", 5, 5);
  const jobs::Analysis small = read(store, {"first"});
  CHECK(small.regions.at(0).severity == jobs::Severity::moderate);
  CHECK(small.findings.empty());
  add_region(store, "large", "n1", 5, 50);
  const jobs::Analysis large = read(store, {"first"});
  REQUIRE(large.findings.size() == 1);
  CHECK(large.findings[0].summary ==
        "critical code region large: very severe, 50 s in 1 runs, 91 % of all regions, 50 % of the time of tasks on its nodes");
  SpanStore alone;
  add_region(alone, "only", "n1", 5, 50);
  CHECK(read(alone, {}).regions.at(0).severity == jobs::Severity::moderate);
  CHECK(read(alone, {}).findings.empty());
}

}  // namespace
}  // namespace atalaya::bottleneck::test
