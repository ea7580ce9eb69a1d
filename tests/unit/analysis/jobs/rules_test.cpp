// SPDX-License-Identifier: Apache-2.0
// Absolute rules: each with a job that has the cause, and one next to its limit that has not.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "plugins/commands/bottleneck/output.h"
#include "plugins/shared/analysis/jobs/rules/settings.h"
#include "tests/unit/analysis/jobs/jobs.h"

namespace atalaya::bottleneck::test {
namespace {

constexpr int64_t kMs = 1000;  // of a second

const char *const kRun = "counter.Task_Metrics.Executor_Run_Time", *const kCpu = "counter.Task_Metrics.Executor_CPU_Time",
                  *const kDeserialize = "counter.Task_Metrics.Executor_Deserialize_Time",
                  *const kSerialize = "counter.Task_Metrics.Result_Serialization_Time",
                  *const kFetch = "counter.Shuffle_Read_Metrics.Fetch_Wait_Time",
                  *const kWrite = "counter.Shuffle_Write_Metrics.Shuffle_Write_Time",
                  *const kWritten = "counter.Shuffle_Write_Metrics.Shuffle_Bytes_Written",
                  *const kSpilled = "counter.Task_Metrics.Disk_Bytes_Spilled";

// An application of Spark with executors of one slot, on hosts "a", "b", ...
class Application {
 public:
  // `tail`: seconds from the end of the last task to the end of the application.
  explicit Application(size_t slots, double tail = 0) : tail_(tail), free_(slots, 0) {}

  void set(const std::string &key, const std::string &value) {
    spans_.add("fact", {{"job", "j"}, {"fact", key}, {"value", value}}, 0, 0);
  }
  // A stage that starts when the one before it has ended, and lasts until its last task.
  void stage(const std::string &id, double gap, int tasks, double seconds, const Counts &counts, const std::string &name = "",
             const Counts &of_stage = {}) {
    const double begin = end() + gap;
    for (double &free : free_) free = std::max(free, begin);
    for (int i = 0; i < tasks; ++i) task(id, std::to_string(i), seconds, counts);
    spans_.add("stage", {{"job", "j"}, {"stage", id}, {"name", name}}, begin, end() - begin, of_stage);
  }
  void task(const std::string &stage, const std::string &index, double seconds, const Counts &counts, int64_t outcome = 0) {
    const size_t slot = static_cast<size_t>(std::min_element(free_.begin(), free_.end()) - free_.begin());
    Counts all = {{"span.outcome", outcome}};
    all.insert(all.end(), counts.begin(), counts.end());
    Tags tags = Spans::task(stage, stage + "." + index, host(slot));
    tags["executor"] = std::to_string(slot);
    tags["attempt"] = std::to_string(attempt_++);
    spans_.add("task", tags, free_[slot], seconds, all);
    free_[slot] += seconds;
  }
  double end() const { return *std::max_element(free_.begin(), free_.end()); }
  jobs::Analysis analysis() {
    const double seconds = end() + tail_;
    spans_.add("job", {{"job", "j"}, {"framework", "spark"}, {"name", "test"}}, 0, seconds, {{"span.outcome", 0}});
    for (size_t i = 0; i < free_.size(); ++i)
      spans_.add("executor", {{"job", "j"}, {"executor", std::to_string(i)}, {"host", host(i)}}, 0, seconds, {{"span.slots", 1}});
    return analysed(spans_);
  }

 private:
  static std::string host(size_t slot) { return std::string(1, static_cast<char>('a' + slot)); }
  Spans spans_;
  const double tail_;
  std::vector<double> free_;  // by slot
  int attempt_ = 0;
};

Counts ran(double seconds, const Counts &more = {}) {
  Counts counts = {{kRun, std::llround(seconds * kMs)}, {kCpu, std::llround(seconds * 0.9e9)}, {kDeserialize, 10}};
  counts.insert(counts.end(), more.begin(), more.end());
  return counts;
}

// The only finding, of this rule.
jobs::Finding cause(const jobs::Analysis &all, const std::string &rule) {
  REQUIRE(all.findings.size() == 1);
  const jobs::Finding &found = all.findings.front();
  REQUIRE(found.rule != nullptr);
  CHECK(found.rule->name == rule);
  return found;
}

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("garbage collection: the seconds of the job are those of the longest slot, and the setting is doubled") {
  Application job(2);
  job.set("spark.executor.memory", "512m");
  job.stage("0", 0, 8, 10, ran(9.9, {{"span.gc.time", 3000}}), "sum at Jobs.scala:66");  // 4 tasks in each slot
  const jobs::Finding found = cause(job.analysis(), "garbage collection");
  CHECK(found.seconds == doctest::Approx(12));
  CHECK(found.lost == doctest::Approx(0.3));
  CHECK(has(found.summary, "garbage collection takes 30 % of the tasks' time in stage 0 (sum at Jobs.scala:66) (24 of 80 s)"));
  REQUIRE(found.advice.size() == 1);
  CHECK(advice_text(found.advice.front()) == "set spark.executor.memory to 1g (now 512m)");
}

TEST_CASE("a job above the limit: the stages below it count, too") {
  Application job(2);
  job.stage("0", 0, 8, 10, ran(9.9, {{"span.gc.time", 900}}));
  job.stage("1", 0, 4, 10, ran(9.9, {{"span.gc.time", 2000}}));
  const jobs::Finding found = cause(job.analysis(), "garbage collection");
  CHECK(found.seconds == doctest::Approx(4 * 0.9 + 2 * 2));
  CHECK(has(found.summary, "garbage collection takes 13 % of the tasks' time in 2 stages, most in stage 1 (15.2 of 120 s)"));
}

TEST_CASE("garbage collection below the limit, or in a stage too short to matter, is no finding") {
  Application little(2);
  little.stage("0", 0, 8, 10, ran(9.9, {{"span.gc.time", 900}}));
  CHECK(little.analysis().findings.empty());
  Application shortly(2);
  shortly.stage("0", 0, 8, 10, ran(9.9, {{"span.gc.time", 100}}));
  shortly.stage("1", 0, 2, 1, ran(0.9, {{"span.gc.time", 500}}));
  const jobs::Analysis all = shortly.analysis();
  CHECK(all.findings.empty());
  REQUIRE(all.compared.size() == 1);
  CHECK(all.compared.front().least == doctest::Approx(2.05));  // 5 % of 41 s
}

TEST_CASE("too few partitions: slots without a task, also of executors that never had one") {
  Application job(4);
  job.stage("0", 0, 1, 32, ran(32), "sum at Jobs.scala:75");
  const jobs::Finding found = cause(job.analysis(), "too few partitions");
  CHECK(found.seconds == doctest::Approx(24).epsilon(0.01));  // 32 s on 4 slots
  CHECK(has(found.summary, "stage 0 (sum at Jobs.scala:75) has 1 task for 4 slots, so that 3 slots had none of it for 32 s"));
  CHECK(found.advice.front().proposed == "8");
  Application enough(4);
  enough.stage("0", 0, 3, 32, ran(32));
  CHECK(enough.analysis().findings.empty());
  Application little(4);
  little.stage("0", 0, 1, 32, ran(32, {{"counter.Shuffle_Read_Metrics.Local_Bytes_Read", 5745}}));
  CHECK(little.analysis().findings.empty());
  Application overhead(4);  // a task that only starts cannot be divided
  overhead.stage("0", 0, 1, 32, ran(1));
  CHECK(overhead.analysis().findings.empty());
}

TEST_CASE("too many small tasks") {
  Application job(2);
  job.stage("0", 0, 500, 0.2, ran(0.05), "count at app.py:14");
  const jobs::Finding found = cause(job.analysis(), "small tasks");
  CHECK(found.seconds == doctest::Approx(50 - 12.5 - 2 * 0.15).epsilon(0.02));  // 25 s of work on 2 slots, in 4 tasks
  CHECK(has(found.summary, "stage 0 (count at app.py:14) has 500 tasks for 2 slots, with a median of 50 ms run time"));
  CHECK(found.advice.front().proposed == "4");
  Application longer(2);
  longer.stage("0", 0, 200, 0.5, ran(0.35));
  CHECK(longer.analysis().findings.empty());
}

TEST_CASE("the driver alone: between stages and until the end, but not in a stream, and not for some seconds") {
  const auto application = [](double gap, const std::string &name) {
    Application job(2, 30);
    job.stage("0", 0, 4, 10, ran(9.9), name);
    job.stage("1", gap, 4, 10, ran(9.9), name);
    return job.analysis();
  };
  const jobs::Finding found = cause(application(20, "collect at app.py:10"), "driver alone");
  CHECK(found.seconds == doctest::Approx(50));  // 20 s between the stages, 30 s after them
  CHECK(has(found.evidence.at(0), "30 s after stage 1 (collect at app.py:10), until the end"));
  CHECK(has(found.evidence.at(1), "20 s after stage 0 (collect at app.py:10), before stage 1"));
  CHECK(application(20, "start at app.py:10").findings.empty());
  Application quick(2, 3);
  quick.stage("0", 0, 4, 5, ran(4.9), "collect at app.py:10");
  quick.stage("1", 4, 4, 5, ran(4.9), "collect at app.py:10");
  CHECK(quick.analysis().findings.empty());  // 7 s
}

TEST_CASE("Python workers: only in stages of queries that call Python functions") {
  const Counts mostly_python = {{kRun, 9900}, {kCpu, 400'000'000}, {kDeserialize, 10}};
  Application job(2);
  job.stage("0", 0, 4, 10, mostly_python, "collect at app.py:18", {{"counter.Accumulables.data_sent_to_Python_workers", 1}});
  const jobs::Finding found = cause(job.analysis(), "Python workers");
  CHECK(found.seconds == doctest::Approx(19));
  CHECK(has(found.summary, "Python workers take 95 % of the tasks' time in stage 0 (collect at app.py:18) (38 of 40 s)"));
  Application waiting(2);
  waiting.stage("0", 0, 4, 10, mostly_python);
  CHECK(waiting.analysis().findings.empty());
}

TEST_CASE("deserialization, results and scheduler delay do not count in the first task of a stage in a slot") {
  const std::pair<const char *, Counts> rules[] = {{"deserialization", {{kRun, 5000}, {kDeserialize, 4900}}},
                                                   {"results", {{kRun, 5000}, {kDeserialize, 0}, {kSerialize, 4900}}},
                                                   {"scheduler delay", {{kRun, 5000}, {kDeserialize, 0}, {kSerialize, 0}}}};
  for (const auto &[rule, counts] : rules) {
    CAPTURE(rule);
    Application later(2);
    later.stage("0", 0, 8, 10, counts);
    const jobs::Finding found = cause(later.analysis(), rule);
    CHECK(found.seconds == doctest::Approx(15).epsilon(0.03));  // 3 of the 4 tasks of a slot
    Application first(2);
    first.stage("0", 0, 2, 10, counts);
    first.stage("1", 0, 2, 10, counts);
    CHECK(first.analysis().findings.empty());
  }
}

TEST_CASE("a wait for shuffle data, and spilled data at the speed of shuffle writes") {
  Application waiting(2);
  waiting.stage("0", 0, 4, 10, ran(9.9, {{kFetch, 4000}}));
  CHECK(cause(waiting.analysis(), "shuffle fetch wait").seconds == doctest::Approx(8));
  constexpr int64_t kMiB = 1 << 20;
  const Counts spilling = ran(9.9, {{kWritten, 100 * kMiB}, {kWrite, 1'000'000'000}, {kSpilled, 150 * kMiB}});
  Application job(2);
  job.stage("0", 0, 4, 10, spilling);
  const jobs::Finding found = cause(job.analysis(), "spill");
  CHECK(found.seconds == doctest::Approx(6));  // 150 MiB written and read at 100 MiB/s, in 2 tasks
  CHECK(found.advice.size() == 2);
  Application unknown(2);  // no speed is known
  unknown.stage("0", 0, 4, 10, ran(9.9, {{kSpilled, 150 * kMiB}}));
  CHECK(unknown.analysis().findings.empty());
}

TEST_CASE("repeated work: failed attempts and a repeated stage") {
  Application job(1);
  job.stage("0", 0, 2, 10, ran(9.9));
  job.task("1", "0", 10, ran(9.9), 1);
  job.task("0.1", "0", 10, ran(9.9));  // a repetition of 0.0
  job.task("1.1", "0", 10, ran(9.9));
  job.task("1.1", "1", 10, ran(9.9));
  const jobs::Finding found = cause(job.analysis(), "repeated work");
  CHECK(found.seconds == doctest::Approx(20));
  CHECK(has(found.summary, "1 attempt failed and 1 repeated finished work, 20 s, 33 % of the time of all attempts"));
  CHECK(found.tasks.size() == 2);
}

TEST_CASE("skew: the job waits for tasks behind the hot one, not for the hot one") {
  Spans spans;
  spans.add("job", {{"job", "j"}}, 0, 50, {{"span.outcome", 0}});
  double at = 0;
  for (int i = 0; i < 12; ++i) {
    const double length = i == 1 ? 20 : 2;
    spans.add("task", Spans::task("1", "t" + std::to_string(i), "a"), at, length,
              {{"span.outcome", 0}, {"span.bytes", i == 1 ? 40'000'000 : 4'000'000 + i * 1000}});
    at += length;
  }
  const jobs::Analysis all = analysed(spans);
  REQUIRE(all.findings.size() == 1);
  CHECK(all.findings.front().reason == jobs::Reason::skew);
  CHECK(all.findings.front().seconds == doctest::Approx(18).epsilon(0.01));  // its end is not the end of the stage
}

TEST_CASE("MapReduce: small tasks by their CPU time, in several waves") {
  const auto job = [](int64_t cpu_ms, int waves) {
    Spans spans;
    spans.add("job", {{"job", "j"}, {"framework", "hadoop"}}, 0, 20.0 * waves, {{"span.outcome", 0}});
    for (int wave = 0; wave < waves; ++wave)
      for (const char *host : {"a", "b"})
        spans.add("task", Spans::task("map", host + std::to_string(wave), host), 20 * wave, 20,
                  {{"span.outcome", 0}, {"counter.org.apache.hadoop.mapreduce.TaskCounter.CPU_MILLISECONDS", cpu_ms}});
    return analysed(spans);
  };
  CHECK(cause(job(250, 3), "small MapReduce tasks").seconds == doctest::Approx(39.5));
  CHECK(job(1200, 3).findings.empty());
  CHECK(job(250, 1).findings.empty());
}

TEST_CASE("the findings are in the order of the seconds of the job") {
  Application job(2);
  job.stage("0", 0, 8, 10, ran(9.9, {{"span.gc.time", 3000}}));
  job.stage("1", 0, 8, 10, ran(9.9, {{kFetch, 6000}}));
  const jobs::Analysis all = job.analysis();
  REQUIRE(all.findings.size() >= 2);
  for (size_t i = 1; i < all.findings.size(); ++i) CHECK(all.findings[i - 1].seconds >= all.findings[i].seconds);
}

TEST_CASE("nothing found: the compared values with their limits, and the smallest cause that would be listed") {
  Application job(2, 2);
  job.stage("0", 0, 8, 10, ran(9.9, {{"span.gc.time", 200}, {kSpilled, 0}}));
  const std::string text = as_table({job.analysis(), {}, "memory", "now"});
  CHECK(text.starts_with(
      "no bottleneck found\n    compared with limits: garbage collection 2.0 % (10 %), small tasks 9900 ms (200 ms)"));
  CHECK(has(text, "\n    none: spill, "));
  CHECK(has(text, "not compared, because nothing reports them: Python workers, results, shuffle fetch wait"));
  CHECK(has(text,
            "a cause of 2.1 s of the job or more would be listed (5 % of the 42 s from its first task to its end, at least 1 s)"));
}

TEST_CASE("advice and seconds are in the table and in JSON") {
  Application job(2);
  job.set("spark.executor.memory", "3g");
  job.stage("0", 0, 8, 10, ran(9.9, {{"span.gc.time", 3000}}));
  const jobs::Analysis all = job.analysis();
  CHECK(has(as_table({all, {}, "memory", "now"}), "    advice: set spark.executor.memory to 6g (now 3g)\n"));
  const std::string json = as_json({all, {}, "memory", "now"});
  CHECK(has(json, R"("kind":"rule")"));
  CHECK(has(json, R"("advice":[{"setting":"spark.executor.memory","now":"3g","proposed":"6g"}])"));
}

TEST_CASE("twice a size") {
  CHECK(jobs::doubled("512m") == "1g");
  CHECK(jobs::doubled("700m") == "1400m");
  CHECK(jobs::doubled("1024") == "2048");
  CHECK(jobs::doubled("4g") == "8g");
  CHECK(jobs::doubled("much").empty());
}

TEST_CASE("the present value of a setting: of the job, the default, or unknown") {
  const auto advice = [](const std::string &key, const std::string &value) {
    Application job(2);
    if (!key.empty()) job.set(key, value);
    job.stage("0", 0, 8, 10, ran(9.9, {{"span.gc.time", 3000}}));
    return advice_text(job.analysis().findings.at(0).advice.at(0));
  };
  CHECK(advice("spark.executor.memory", "2g") == "set spark.executor.memory to 4g (now 2g)");
  CHECK(advice("spark.serializer", "x") == "set spark.executor.memory to 2g (now 1g, the default)");
  CHECK(advice("", "") == "raise spark.executor.memory");
}

TEST_CASE("healthy applications have no finding, whatever the chance") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 dice(seed);
    const auto between = [&](double least, double most) { return std::uniform_real_distribution<double>(least, most)(dice); };
    Application job(4);
    for (int stage = 0; stage < 3; ++stage)
      for (int i = 0; i < 16; ++i) {
        const double seconds = between(4, 6);
        job.task(std::to_string(stage), std::to_string(i), seconds,
                 ran(seconds * between(0.85, 0.98), {{"span.gc.time", std::llround(seconds * between(0, 80))},
                                                     {kFetch, std::llround(seconds * between(0, 150))},
                                                     {"span.bytes", std::llround(between(0.8e8, 1.2e8))}}));
      }
    CAPTURE(seed);
    CHECK(job.analysis().findings.empty());
  }
}

}  // namespace atalaya::bottleneck::test
