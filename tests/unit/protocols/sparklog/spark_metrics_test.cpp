// SPDX-License-Identifier: Apache-2.0
// Each rule of the metrics of Spark's tasks, a task that Spark logged, and random ones.
#include "plugins/shared/protocols/sparklog/spark_metrics.h"

#include <map>

#include "plugins/shared/protocols/jhist/jhist_reader.h"
#include "tests/unit/protocols/random.h"
#include "tests/unit/protocols/records.h"
#include "tests/unit/rounds.h"

namespace atalaya::protocols::testing {
namespace {

using Sums = std::map<std::string, int64_t>;

struct Parsed {
  explicit Parsed(const std::string &json) { REQUIRE_MESSAGE(parser.parse(json).get(object) == simdjson::SUCCESS, json); }
  simdjson::dom::parser parser;
  io::JsonObject object;
};

Sums sums_of(const Counters &counters) {
  Sums out;
  for (const Counter &one : counters) {
    CAPTURE(one.name);
    REQUIRE(out.emplace(one.group + "/" + one.name, one.value).second);
  }
  return out;
}
Span task_of(int64_t start, int64_t end) {
  Span task;
  task.text = "task";
  task.start_ms = start;
  task.duration_ms = end - start;
  return task;
}
std::string phases_of(const std::string &metrics, const Span &task, int64_t getting_result = 0) {
  const Parsed parsed(metrics);
  Spans out;
  add_task_phases(parsed.object, task, getting_result, out);
  std::string text;
  for (const Span &span : out) {
    text += (text.empty() ? "" : " ") + span.phase + " " + std::to_string(span.start_ms) + "+" + std::to_string(span.duration_ms);
    if (span.bytes) text += " " + std::to_string(*span.bytes) + "B";
    if (!span.source.empty()) text += " " + span.source;
    text += ";";
  }
  return text;
}

}  // namespace

TEST_CASE("spark metrics: a task of Spark 4.3, against the accumulators that Spark logged next to its metrics") {
  const Parsed event(fixture("sparklog/task-end.json"));
  const io::JsonObject metrics = *io::object_of(event.object, "Task Metrics"), info = *io::object_of(event.object, "Task Info");
  Counters counters, internal, none;
  read_metrics("Task Metrics", metrics, counters);
  read_accumulables(info, "Update", true, internal);
  read_accumulables(info, "Update", false, none);
  CHECK(none.empty());
  const Sums sums = sums_of(counters), logged = sums_of(internal);
  CHECK(sums.size() == 36);
  CHECK(logged.size() == 22);
  for (const auto &[metric, accumulator] :
       std::map<std::string, std::string>{{"Task Metrics/Executor Run Time", "executorRunTime"},
                                          {"Task Metrics/Executor Deserialize Time", "executorDeserializeTime"},
                                          {"Shuffle Read Metrics/Remote Bytes Read", "shuffle.read.remoteBytesRead"},
                                          {"Shuffle Read Metrics/Total Records Read", "shuffle.read.recordsRead"},
                                          {"Push Based Shuffle/Merged Local Bytes Read", "shuffle.push.read.localMergedBytesRead"}})
    CHECK(sums.at(metric) == logged.at("Accumulables/internal.metrics." + accumulator));
  Span task = task_of(1795892279163, 1795892280951);
  task.locality = "node";
  measure_task(metrics, task);
  CHECK(task.bytes == 77291 + 235074);
  CHECK(task.remote_bytes == 77291);
  CHECK(task.records == 20173);
  CHECK(task.gc_ms == 0);
  Spans phases;
  add_task_phases(metrics, task, 0, phases);
  REQUIRE(phases.size() == 3);
  CHECK(phases[0].phase == "deserialize");
  CHECK(phases[0].duration_ms == 253);
  CHECK(phases[1].phase == "shuffle-read");
  CHECK(phases[1].duration_ms == 80);
  CHECK(phases[1].source == "disk");
  CHECK(phases[2].phase == "compute");
  CHECK(phases[2].duration_ms == 1494 - 80);
  CHECK(phases[2].start_ms + phases[2].duration_ms == 1795892280951);
}

TEST_CASE("spark metrics: the write time of a shuffle is in nanoseconds, all other times are in milliseconds") {
  CHECK(phases_of(R"({"Executor Run Time":10,"Shuffle Write Metrics":{"Shuffle Write Time":3999999,"Shuffle Bytes Written":5}})",
                  task_of(1000, 1010)) == "compute 1000+7; shuffle-write 1007+3 5B;");
}

TEST_CASE("spark metrics: a wait or a write that is longer than the run is cut to it") {
  CHECK(phases_of(R"({"Executor Run Time":10,"Shuffle Read Metrics":{"Fetch Wait Time":50},)"
                  R"("Shuffle Write Metrics":{"Shuffle Write Time":9000000}})",
                  task_of(1000, 1010)) == "shuffle-read 1000+10;");
}

TEST_CASE("spark metrics: the fetch of a result comes last, if its start is within the task") {
  const std::string metrics = R"({"Executor Run Time":4})";
  CHECK(phases_of(metrics, task_of(1000, 1010), 1006) == "compute 1002+4; result-fetch 1006+4;");
  CHECK(phases_of(metrics, task_of(1000, 1010), 1000) == "compute 1006+4;");
  CHECK(phases_of(metrics, task_of(1000, 1010), 1011) == "compute 1006+4;");
}

TEST_CASE("spark metrics: accumulators of one name are added, up to the limits of numbers; numbers may be texts") {
  const Parsed info(R"({"Accumulables":[{"Name":"a","Update":"9223372036854775807"},{"Name":"a","Update":5,"Value":7},)"
                    R"({"Name":"b","Update":"x"},{"Update":1},{"Name":"c","Value":3},7,{"Name":"d","Update":-2}]})");
  Counters update, value;
  read_accumulables(info.object, "Update", false, update);
  read_accumulables(info.object, "Value", false, value);
  CHECK(sums_of(update) == Sums{{"Accumulables/a", INT64_MAX}, {"Accumulables/d", -2}});
  CHECK(sums_of(value) == Sums{{"Accumulables/a", 7}, {"Accumulables/c", 3}});
}

TEST_CASE("spark metrics: counters are limited, their names are cut") {
  std::string json = "{\"" + std::string(300, 'x') + "\":1";
  for (size_t i = 0; i < kMaxCounters + 10; ++i) json += ",\"m" + std::to_string(i) + "\":1";
  const Parsed metrics(json + "}");
  Counters counters;
  read_metrics("g", metrics.object, counters);
  CHECK(counters.size() == kMaxCounters);
  CHECK(counters[0].name == std::string(kMaxCounterText, 'x'));
}

TEST_CASE("spark metrics: random metrics have their numbers, and phases follow one another until the end of the run") {
  for (uint32_t seed = 0; seed < test::rounds(4000); ++seed) {
    Random random(seed);
    Sums expected;
    int64_t sum_ms = 0;
    std::string json = "{\"Text\":\"1\"";
    const auto number = [&](const char *group, const char *name, uint64_t limit, bool time) {
      if (random.one_of(4)) return;
      const auto value = static_cast<int64_t>(random.below(limit));
      if (json.back() != '{') json += ',';
      json += "\"" + std::string(name) + "\":" + std::to_string(value);
      expected[std::string(group) + "/" + name] = value;
      if (time) sum_ms += value;
    };
    number("T", "Executor Deserialize Time", 100, true);
    number("T", "Executor Run Time", 1000, true);
    number("T", "Result Serialization Time", 10, true);
    json += ",\"Shuffle Read Metrics\":{";
    number("Shuffle Read Metrics", "Fetch Wait Time", 2000, false);
    number("Shuffle Read Metrics", "Remote Bytes Read", 1'000'000, false);
    number("Shuffle Read Metrics", "Local Bytes Read", 1'000'000, false);
    json += "},\"Shuffle Write Metrics\":{";
    number("Shuffle Write Metrics", "Shuffle Write Time", 2'000'000'000, false);
    json += "},\"Input Metrics\":{";
    number("Input Metrics", "Bytes Read", 1'000'000, false);
    json += "}}";
    CAPTURE(json);
    const Parsed metrics(json);
    Counters counters;
    read_metrics("T", metrics.object, counters);
    REQUIRE(sums_of(counters) == expected);
    Spans phases;
    const Span task = task_of(10'000, 20'000);
    add_task_phases(metrics.object, task, 0, phases);
    int64_t at = 20'000 - sum_ms;
    for (const Span &phase : phases) {
      REQUIRE(phase.start_ms == at);
      REQUIRE(phase.duration_ms >= 0);
      at += phase.duration_ms;
    }
    REQUIRE(at == 20'000);
    Span measured = task;
    measure_task(metrics.object, measured);
    REQUIRE(measured.remote_bytes.value_or(0) <= measured.bytes.value_or(0));
  }
}

}  // namespace atalaya::protocols::testing
