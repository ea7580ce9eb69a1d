// SPDX-License-Identifier: Apache-2.0
// Samples that the source emits.
#include <atalaya/plugin.hpp>

#include <set>

#include "plugins/sources/hadoop/hadoop_metrics.h"
#include "plugins/sources/hadoop/span_writer.h"
#include "tests/unit/filters/stages/fixture.h"

namespace atalaya::testing {
namespace {

// Gives one span by the writer.
class Written final : public Source {
 public:
  static constexpr Description description = {.name = "written"_str, .summary = "for this test"_str};
  static inline protocols::Span span;
  static inline size_t max_names = 100;
  static inline uint64_t omitted = 0;

  explicit Written(Host host) : writer_(host, max_names) {}
  Code collect(const Window &, Batch &batch) override {
    writer_.write(span, batch);
    omitted = writer_.omitted();
    return Code::ok;
  }

 private:
  hadoop::SpanWriter writer_;
};

protocols::Span full() {
  protocols::Span span;
  span.text = "task";
  span.start_ms = 1;
  span.duration_ms = 2;
  span.host = span.framework = span.job = span.name = span.stage = span.task = span.attempt = span.phase = "x";
  span.locality = span.executor = span.source = span.quality = span.fact = span.value = span.error = "x";
  span.bytes = span.records = span.remote_bytes = span.gc_ms = span.slots = 7;
  span.outcome = protocols::Outcome::killed;
  span.counters = {{"a.B$C", "x y(z)\xc3\xa9", -5}, {"g", "n", INT64_MAX}};
  return span;
}

}  // namespace

TEST_CASE("hadoop: tags, fields and counters of a span") {
  Written::span = full();
  Written::max_names = 100;
  Bench<Written> bench;
  REQUIRE(bench.collect(window_at()).ok());
  CHECK(bench.lines() ==
        std::vector<std::string>{
            "span task | host=x framework=x job=x name=x stage=x task=x attempt=x phase=x locality=x executor=x source=x "
            "quality=x fact=x value=x error=x | span.bytes=7i span.records=7i span.bytes.remote=7i "
            "span.gc.time=7i span.slots=7i span.outcome=2i counter.a.B_C.x_y_z___=-5i counter.g.n=9223372036854775807i"});
}

TEST_CASE("hadoop: every tag and field is declared, and those declared are there") {
  Written::span = full();
  Written::span.counters.clear();
  Bench<Written> bench;
  REQUIRE(bench.collect(window_at()).ok());
  const std::string line = bench.lines().at(0);
  for (const Metric &metric : hadoop::kMetrics)
    CHECK(line.find(" " + std::string(view(metric.name)) + (view(metric.name) == "span.outcome" ? "=2i" : "=7i")) !=
          std::string::npos);
  for (const MetricTag &tag : hadoop::kSpanTags) CHECK(line.find(" " + std::string(view(tag.key)) + "=x") != std::string::npos);
  CHECK(static_cast<size_t>(std::count(line.begin(), line.end(), '=')) ==
        std::size(hadoop::kMetrics) + std::size(hadoop::kSpanTags));
}

TEST_CASE("hadoop: counters beyond max_names are left out and counted") {
  Written::span = full();
  Written::max_names = 1;
  Bench<Written> bench;
  REQUIRE(bench.collect(window_at()).ok());
  CHECK(bench.lines().at(0).find("counter.a.B_C") != std::string::npos);
  CHECK(bench.lines().at(0).find("counter.g.n") == std::string::npos);
  CHECK(Written::omitted == 1);
}

}  // namespace atalaya::testing
