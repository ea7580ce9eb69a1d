// SPDX-License-Identifier: Apache-2.0
// Histories that Spark 4.3 and Hadoop 3.5 wrote, compared with facts.json: values of another parser.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "plugins/sources/hadoop/errors.h"
#include "tests/unit/sources/hadoop/spans_text.h"

namespace atalaya::hadoop {
namespace {

const std::string kFolder = "tests/fixtures/histories/";

std::string content_of(const std::string &file) {
  std::ifstream in(kFolder + file, std::ios::binary);
  REQUIRE(in.good());
  return {std::istreambuf_iterator<char>(in), {}};
}

class Facts {
 public:
  explicit Facts(const std::string &file) { REQUIRE(parser_.load(kFolder + "facts.json")[file].get(facts_) == simdjson::SUCCESS); }

  simdjson::dom::element operator[](std::string_view key) const { return facts_[key]; }
  std::string text(std::string_view key) const { return std::string(facts_[key].get_string().value()); }
  std::map<std::string, int64_t> counts(std::string_view key) const {
    std::map<std::string, int64_t> counts;
    for (const auto field : facts_[key].get_object()) counts[std::string(field.key)] = field.value.get_int64();
    return counts;
  }

 private:
  simdjson::dom::parser parser_;
  simdjson::dom::element facts_;
};

protocols::Spans named(const protocols::Spans &spans, std::string_view name) {
  protocols::Spans found;
  std::copy_if(spans.begin(), spans.end(), std::back_inserter(found),
               [&](const protocols::Span &span) { return span.text == name; });
  return found;
}

// Of attempts: the word before the first colon of their errors.
std::map<std::string, int64_t> reasons_of(const protocols::Spans &spans) {
  std::map<std::string, int64_t> reasons;
  for (const protocols::Span &span : named(spans, "error"))
    if (!span.attempt.empty()) ++reasons[span.error.substr(0, span.error.find(':'))];
  for (const protocols::Span &span : named(spans, "task"))
    if (span.outcome == protocols::Outcome::succeeded) ++reasons["Success"];
  return reasons;
}

bool has_error(const protocols::Spans &spans, const std::string &begin) {
  return std::any_of(spans.begin(), spans.end(), [&](const protocols::Span &span) { return span.error.starts_with(begin); });
}

TEST_CASE("recorded: a Spark application whose job failed has failed, although it stopped with exit code 0") {
  const Facts facts("spark-failed-job.zst");
  REQUIRE(facts["app"]["exit"].get_int64().value() == 0);
  const Read read(content_of("spark-failed-job.zst"));
  CHECK(read.history.damage().count == 0);
  CHECK(reasons_of(read.spans) == facts.counts("reasons"));
  const protocols::Span job = named(read.spans, "job").at(0), stage = named(read.spans, "stage").at(0);
  CHECK(job.outcome == protocols::Outcome::failed);
  CHECK(stage.outcome == protocols::Outcome::failed);
  for (const protocols::Span &error : named(read.spans, "error")) {
    CHECK(error.outcome == protocols::Outcome::failed);
    CHECK(error.error.size() <= kMaxErrorText);
    CHECK(std::count(error.error.begin(), error.error.end(), '\n') < static_cast<int64_t>(kMaxErrorLines));
  }
  CHECK(has_error(read.spans, "ExceptionFailure: java.lang.IllegalStateException: bad record in partition 5\nat bench.Failing"));
  CHECK(has_error(read.spans, "Job aborted due to stage failure: Task 5 in stage 0.0 failed 4 times"));
  CHECK(has_error(read.spans, "job 0: Job aborted due to stage failure: Task 5 in stage 0.0 failed 4 times"));
}

TEST_CASE("recorded: a lost executor of Spark, its task, and the stage that could not fetch from it") {
  const Facts facts("spark-lost-executor-stage-retry.zst");
  const Read read(content_of("spark-lost-executor-stage-retry.zst"));
  CHECK(reasons_of(read.spans) == facts.counts("reasons"));
  CHECK(named(read.spans, "job").at(0).outcome == protocols::Outcome::succeeded);
  const protocols::Spans executors = named(read.spans, "executor");
  CHECK(executors.size() == 4);
  for (const protocols::Span &executor : executors) {
    const simdjson::dom::element fact = facts["executors"][executor.executor];
    CHECK(executor.host == fact["host"].get_string().value());
    CHECK(executor.slots == fact["cores"].get_int64().value());
    CHECK(executor.outcome == (fact["removed"].is_null() ? protocols::Outcome::succeeded : protocols::Outcome::failed));
  }
  CHECK(has_error(read.spans, "Command exited with code 137"));
  CHECK(has_error(read.spans, "ExecutorLostFailure: executor 1: Command exited with code 137"));
  CHECK(has_error(read.spans, "FetchFailed: from executor 1 on a: org.apache.spark.shuffle.FetchFailedException"));
  const protocols::Spans stages = named(read.spans, "stage");
  CHECK(std::count_if(stages.begin(), stages.end(), [](const protocols::Span &one) {
          return one.outcome == protocols::Outcome::failed;
        }) == facts["stages_failed"].get_int64().value());
}

TEST_CASE("recorded: a MapReduce job that failed, with its diagnostics and the errors of its attempts") {
  const Facts facts("mapreduce-failed-job.jhist");
  const Read read(content_of("mapreduce-failed-job.jhist"));
  CHECK(read.history.damage().count == 0);
  CHECK(named(read.spans, "job").at(0).outcome == protocols::Outcome::failed);
  CHECK(has_error(read.spans, facts.text("diagnostics").substr(0, facts.text("diagnostics").find('\n'))));
  for (const simdjson::dom::element error : facts["errors"].get_array())
    CHECK(has_error(read.spans, std::string(error.get_string().value())));
  std::map<std::string, int64_t> attempts;
  for (const protocols::Span &task : named(read.spans, "task")) {
    const char *outcome = task.outcome == protocols::Outcome::succeeded ? " SUCCEEDED"
                          : task.outcome == protocols::Outcome::failed  ? " FAILED"
                                                                        : " KILLED";
    ++attempts[(task.stage == "map" ? "MAP" : "REDUCE") + std::string(outcome)];
  }
  CHECK(attempts == facts.counts("attempts"));
}

TEST_CASE("recorded: an attempt that was killed before it had a container is no damage") {
  const Facts facts("mapreduce-killed-before-start.jhist");
  REQUIRE(facts.counts("attempts").at("None KILLED") == 1);
  const Read read(content_of("mapreduce-killed-before-start.jhist"));
  CHECK(read.history.damage().count == 0);
  CHECK(named(read.spans, "task").size() == 4);
  CHECK(named(read.spans, "job").at(0).outcome == protocols::Outcome::succeeded);
}

}  // namespace
}  // namespace atalaya::hadoop
