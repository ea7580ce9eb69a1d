// SPDX-License-Identifier: Apache-2.0
// Made-up metrics of each kind, from a host's catalogue through the sink "sqlite" to every reader, and to Prometheus. No name says
// anything about a kind or a unit.
#include <doctest/doctest.h>

#include <map>
#include <string>

#include "core/base/sample/batch.h"
#include "plugins/commands/serve/http/api.h"
#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/analysis/plot/lines.h"
#include "plugins/shared/store/query/engine.h"
#include "plugins/shared/store/query/usage.h"
#include "plugins/shared/store/query/windows/downsample.h"
#include "plugins/sinks/prometheus/snapshot_text.h"
#include "tests/unit/declarations.h"
#include "tests/unit/sinks/files/plugin_host.h"
#include "tests/unit/temporary_folder.h"

namespace atalaya {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kBegin = 1'795'219'500 * kSecond;  // a whole minute
constexpr int kWindows = 6;                          // of ten seconds: one minute

testing::Declarations declared() {
  return testing::Declarations()
      .add("made.gauge", ATALAYA_GAUGE, "Cel", "A temperature", 1)
      .add("made.rate", ATALAYA_RATE, "MiBy/s", "A speed", 2)
      .add("made.delta", ATALAYA_DELTA, "By", "An amount")
      .add("made.errors", ATALAYA_TOTAL, "{error}", "A counter")
      .add("made.seconds", ATALAYA_TOTAL, "s", "A duration", 3);
}

// The values 1 to 6 of each metric, one a window.
void fill(core::Batch &batch, core::Symbols &symbols) {
  for (int window = 1; window <= kWindows; ++window) {
    atalaya_sample &sample = batch.add_sample(ATALAYA_METRICS);
    sample.time_ns = kBegin + window * 10 * kSecond;
    sample.duration_ns = 10 * kSecond;
    batch.add_tag(sample, symbols.intern("host"), "h");
    for (const char *name : {"made.gauge", "made.rate", "made.delta", "made.errors", "made.seconds", "made.foreign"}) {
      atalaya_field field{symbols.intern(name), ATALAYA_F64, {}};
      field.value.f64 = window;
      batch.add_field(sample, field);
    }
  }
}

struct Stored {
  testing::TemporaryFolder folder;
  std::string path = folder / "atalaya.db";
  query::Range range{kBegin, kBegin + 60 * kSecond};
  std::unique_ptr<store::Store> store;

  Stored() {
    core::Symbols symbols;
    core::Batch batch;
    fill(batch, symbols);
    testing::LoadedSink sink(SINK_SQLITE, symbols, {{"path", path}, {"sync", "normal"}},
                             {{"retain", 0}, {"min_retain", 0}, {"max_size", 0}, {"min_free", 0}}, declared());
    REQUIRE_MESSAGE(sink.created() == ATALAYA_OK, sink.error());
    REQUIRE_MESSAGE(sink.start() == ATALAYA_OK, sink.error());
    REQUIRE_MESSAGE(sink.write(batch.raw()) == ATALAYA_OK, sink.error());
    store = store::open_store(path);
  }
  std::map<std::string, query::Answer> ask(bool rate = false) {
    query::Query query;
    query.metrics = {"made.*"};
    query.range = range;
    if (rate)
      query.rate = query::Rate{};
    else
      query.downsample = query::parse_downsample("1m").value();
    query::Budget budget({});
    std::map<std::string, query::Answer> answers;
    for (query::Answer &answer : query::run_query(query, *store, budget)) answers.emplace(answer.metric, std::move(answer));
    return answers;
  }
};

TEST_CASE("query adds deltas, takes the last total and averages the rest, also unknown metrics; rates are of totals") {
  Stored stored;
  const auto answers = stored.ask();
  REQUIRE(answers.size() == 6);
  for (const auto &[metric, answer] : answers) {
    CAPTURE(metric);
    REQUIRE(answer.points.size() == 1);
    const bool is_total = metric == "made.errors" || metric == "made.seconds";  // the last value
    CHECK(answer.points[0].value == (metric == "made.delta" ? 21 : is_total ? 6 : 3.5));
  }
  const auto rates = stored.ask(true);
  CHECK(rates.at("made.seconds").points.size() == 5);
  CHECK(rates.at("made.seconds").points[0].value == doctest::Approx(0.1));
  CHECK(rates.at("made.seconds").info->unit == "s/s");
}

TEST_CASE("tables, CSV, JSON, plots and reports have the declared units") {
  Stored stored;
  const auto answers = stored.ask();
  const std::map<std::string, std::string> shown{{"made.gauge", "°C"},     {"made.rate", "MiB/s"}, {"made.delta", "B"},
                                                 {"made.errors", "error"}, {"made.seconds", "s"},  {"made.foreign", ""}};
  for (const auto &[metric, unit] : shown) {
    CAPTURE(metric);
    const query::Answer &answer = answers.at(metric);
    CHECK(plot::unit_of(answer) == unit);
    CHECK((command_line::as_table({answer}).find(metric + " (" + unit + ")") != std::string::npos) == !unit.empty());
  }
  CHECK(command_line::as_csv({answers.at("made.rate")}).find(",3.5,MiBy/s\r\n") != std::string::npos);
  CHECK(command_line::as_json({answers.at("made.delta")}).find(R"("kind":"delta","unit":"By","summary":"An amount",)") !=
        std::string::npos);
  CHECK(command_line::as_json({answers.at("made.foreign")}).find("unit") == std::string::npos);
  query::Budget budget({});
  std::map<std::string, std::string> sums;
  for (const query::Usage &usage : query::usage_of({"made.*"}, {}, {}, stored.range, *stored.store, budget))
    sums[usage.metric] = command_line::rounded_text(usage.sum) + " " + usage.sum_unit;
  CHECK(sums.at("made.delta") == "21 B");
  CHECK(sums.at("made.rate") == "210 MiB");
  CHECK(sums.at("made.seconds") == "5 s");
  CHECK(sums.at("made.errors") == "5 error");
  CHECK(sums.at("made.foreign") == "210 value-seconds");
}

TEST_CASE("serve has kind, unit and help wherever there is room") {
  const Stored stored;
  serve::Api api(Host(nullptr), {stored.path}, "", {});
  const auto get = [&](std::string path, std::vector<std::pair<std::string, std::string>> arguments = {}) {
    const serve::Answer answer = api.answer({"GET", std::move(path), std::move(arguments), "", ""});
    CHECK(answer.status == 200);
    return answer.body;
  };
  CHECK(get("/api/v1/metadata") == R"({"status":"success","data":{)"
                                   R"("made_delta":[{"type":"gauge","help":"An amount","unit":"By"}],)"
                                   R"("made_errors":[{"type":"counter","help":"A counter","unit":"{error}"}],)"
                                   R"("made_foreign":[{"type":"unknown","help":"","unit":""}],)"
                                   R"("made_gauge":[{"type":"gauge","help":"A temperature","unit":"Cel"}],)"
                                   R"("made_rate":[{"type":"gauge","help":"A speed","unit":"MiBy/s"}],)"
                                   R"("made_seconds":[{"type":"counter","help":"A duration","unit":"s"}]}})");
  CHECK(get("/api/metrics")
            .find(R"({"metric":"made.delta","kind":"delta","unit":"By","summary":"An amount"},{"metric":"made.errors",)") !=
        std::string::npos);
  CHECK(get("/api/query", {{"start", "1795219500"}, {"end", "1795219560"}, {"m", "sum:1m-avg:made.rate"}})
            .find(R"("kind":"rate","unit":"MiBy/s","summary":"A speed")") != std::string::npos);
  CHECK(get("/api/search/lookup", {{"m", "made.gauge"}}).find(R"("kind":"gauge","unit":"Cel","summary":"A temperature")") !=
        std::string::npos);
}

TEST_CASE("prometheus has the declared types, units and help") {
  core::Symbols symbols;
  core::Batch batch;
  fill(batch, symbols);
  const testing::Declarations all = declared();
  const core::NameOf name_of = [&](uint32_t id) { return symbols.name(id); };
  prometheus::SeriesTable table({}, name_of, all.metric_of(name_of));
  const prometheus::Moment now{kSecond, kBegin + 60 * kSecond};
  table.take({batch.raw().samples, batch.count()}, now);
  prometheus::Snapshot snapshot;
  table.snapshot(snapshot, now);
  std::string text;
  prometheus::SnapshotText({}, false).write(snapshot, prometheus::Form::openmetrics, text);
  table.release_snapshot();
  CHECK(text == R"(# HELP made_delta An amount, in B; Atalaya's metric made.delta
# TYPE made_delta gauge
made_delta{host="h"} 6
# HELP made_errors A counter, in error; Atalaya's metric made.errors
# TYPE made_errors counter
made_errors_total{host="h"} 6
# HELP made_foreign Atalaya's metric made.foreign
# TYPE made_foreign unknown
made_foreign{host="h"} 6
# HELP made_gauge A temperature, in °C; Atalaya's metric made.gauge
# TYPE made_gauge gauge
made_gauge{host="h"} 6
# HELP made_rate A speed, in MiB/s; Atalaya's metric made.rate
# TYPE made_rate gauge
made_rate{host="h"} 6
# HELP made_seconds A duration, in s; Atalaya's metric made.seconds
# TYPE made_seconds counter
# UNIT made_seconds seconds
made_seconds_total{host="h"} 6
# EOF
)");
}

}  // namespace
}  // namespace atalaya
