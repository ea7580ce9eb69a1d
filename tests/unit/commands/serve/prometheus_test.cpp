// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/serve/prometheus/prometheus.h"

#include <doctest/doctest.h>

#include <cmath>

#include "plugins/shared/store/query/engine.h"
#include "tests/unit/store/query/memory_store.h"

namespace atalaya::serve {
namespace {

using Patterns = std::vector<std::string>;
constexpr int64_t kSecond = 1'000'000'000;
const std::vector<std::string> kKnown = {"proc.cpu.user", "proc_cpu_user", "sys.load.1m"};

std::string error_of(const char *text) {
  try {
    read_selector(text, kKnown);
  } catch (const query::Wrong &wrong) {
    return wrong.what();
  }
  return "";
}

TEST_CASE("names as Prometheus writes them find ours") {
  CHECK(read_selector("sys_load_1m", kKnown).metrics == Patterns{"sys.load.1m"});
  CHECK(read_selector("proc_cpu_user", kKnown).metrics == Patterns{"proc.cpu.user", "proc_cpu_user"});
  CHECK(read_selector("sys\\.load\\.1m", kKnown).metrics == Patterns{"sys.load.1m"});
  CHECK(read_selector("{__name__=\"sys.load.1m\"}", kKnown).metrics == Patterns{"sys.load.1m"});
  CHECK(read_selector("{__name__=~\"sys_.*\"}", kKnown).metrics == Patterns{"sys.load.1m"});
  CHECK(read_selector("{__name__!=\"\"}", kKnown).metrics.size() == kKnown.size());
  CHECK(read_selector("{__name__!=\"\"}", {}).metrics == Patterns{"__name__"});
  CHECK(read_selector("{__name__=\"\",host=\"a\"}", kKnown).metrics == Patterns{"__name__"});  // none
  for (const char *empty : {"{__name__=\"\"}", "{__name__=~\"\"}"})
    CHECK_THROWS_WITH_AS(read_selector(empty, kKnown),
                         "a selector needs a name, or a matcher that does not match an empty text, such as {host=\"a\"}",
                         query::Wrong);
  CHECK(read_selector("{__name__=~\"proc.*\",__name__!=\"proc_cpu_user\"}", kKnown).metrics == Patterns{"proc.\\*"});
  CHECK(read_selector("other", kKnown).metrics == Patterns{"other"});
}

TEST_CASE("matchers become our patterns, anchored as theirs are") {
  const query::Query query = read_selector(R"(x{a="b*", c!="d", e=~"f|g", h!~'i.*', j="",})", {});
  REQUIRE(query.tags.size() == 5);
  CHECK(query.tags[0].patterns == Patterns{"b\\*"});
  CHECK(query.tags[1].patterns == Patterns{"!d"});
  CHECK(query.tags[2].patterns == Patterns{"~^(f|g)$"});
  CHECK(query.tags[3].patterns == Patterns{"!~^(i.*)$"});
  CHECK(query.tags[4].patterns == Patterns{"!*"});
  CHECK_FALSE(query.group);
}

TEST_CASE("an invalid selector is refused, with the position") {
  CHECK(error_of("rate(x[5m])").find("expected a selector") != std::string::npos);
  CHECK(error_of("x{a=b}").find("position 5: expected a text in quotes") != std::string::npos);
  CHECK(error_of("x{a=\"b\"").find("position 8: expected \",\" or \"}\"") != std::string::npos);
  CHECK(error_of("").find("position 1: expected a metric") != std::string::npos);
  CHECK(error_of("x{a=\"b").find("position 5: the text has no end") != std::string::npos);
}

TEST_CASE("a step has the last value before it, unless that is too old") {
  const std::vector<query::Point> points = {{100 * kSecond, 1}, {110 * kSecond, 2}};
  const auto at = at_steps(points, {95 * kSecond, 500 * kSecond, 15 * kSecond}, kLookback);
  REQUIRE(at.size() == 21);
  CHECK(at[0].time_ns == 110 * kSecond);
  CHECK(at[0].point.value == 2);
  CHECK(at.back().time_ns == 410 * kSecond);
  CHECK(at_steps({}, {0, 10, 1}, kLookback).empty());
}

TEST_CASE("a series has ended two windows after its last sample") {
  query::Answer answer;
  CHECK(max_age_of(answer) == kLookback);
  answer.window_ns = 5 * kSecond;
  CHECK(max_age_of(answer) == 10 * kSecond);
  answer.window_ns = 3600 * kSecond;
  CHECK(max_age_of(answer) == kLookback);
}

TEST_CASE("a step has the integral of the time since the step before, and nothing after the end of a process") {
  query::test::MemoryStore store;
  store.add_windows("proc.cpu.user", {{"pid", "1"}}, {{10, 5, 100}, {15, 5, 50}, {20, 5, 10}});
  store.add_windows("self.samples.in", {{"pid", "1"}}, {{10, 5, 100}, {15, 5, 150}, {20, 5, 160}});
  const auto values = [&](const std::string &selector, int step) {
    const Steps steps{query::test::kT0 + 10 * kSecond, query::test::kT0 + 60 * kSecond, step * kSecond};
    const query::Query wanted = read_selector(selector, store.metrics());
    query::Budget budget({});
    std::string json = matrix_json(query::run_query(interval_query_of(wanted, steps), store, budget), steps, budget) +
                       matrix_json(query::run_query(instant_query_of(wanted, steps), store, budget), steps, budget);
    json.erase(0, json.find("values"));
    for (size_t at = 0; (at = json.find("1699999", at)) != std::string::npos;) json.erase(at, 7);
    return json;
  };
  CHECK(values("proc_cpu_user", 10) == R"(values":[[210,"50"],[220,"30"]]})");
  CHECK(values("proc_cpu_user", 5) == R"(values":[[210,"100"],[215,"50"],[220,"10"]]})");
  CHECK(values("self_samples_in", 5) == R"(values":[[210,"100"],[215,"150"],[220,"160"],[225,"160"],[230,"160"]]})");
}

TEST_CASE("steps are counted before they are made") {
  const auto steps = [](const char *start, const char *end, const char *step) {
    return read_steps({"GET", "", {{"start", start}, {"end", end}, {"step", step}}, "", ""}, 0);
  };
  CHECK(steps("1000", "2000", "15s").step_ns == 15 * kSecond);
  CHECK(steps("1000", "2000", "0.5").step_ns == kSecond / 2);
  CHECK_THROWS_AS(steps("1000", "2000000", "1"), query::Wrong);
  CHECK_THROWS_AS(steps("1000", "900", "1"), query::Wrong);
  CHECK_THROWS_AS(steps("1000", "2000", "0"), query::Wrong);
  CHECK_THROWS_AS(steps("1000", "2000", ""), query::Wrong);
}

TEST_CASE("a matrix leaves out series without a value") {
  const query::Answer answer{"m", {{"host", "h"}}, {}, {{1000 * kSecond, 1.5}}};
  query::Budget budget({});
  CHECK(matrix_json({answer, {"n", {}, {}, {}}}, {1000 * kSecond, 1010 * kSecond, 10 * kSecond}, budget) ==
        R"({"metric":{"__name__":"m","host":"h"},"values":[[1000,"1.5"],[1010,"1.5"]]})");
}

TEST_CASE("a value that is not finite is written as Prometheus does") {
  const auto text = [](double value) {
    core::JsonWriter json;
    write_step(json, {}, {kSecond, {kSecond, value}});
    return json.take();
  };
  CHECK(text(INFINITY) == R"([1,"+Inf"])");
  CHECK(text(-INFINITY) == R"([1,"-Inf"])");
  CHECK(text(NAN) == R"([1,"NaN"])");
}

TEST_CASE("a count is exact, though it is more than a double holds") {
  const query::Answer answer{"m", {}, {}, {{1000 * kSecond, 0x1p53}}, {{1000 * kSecond, (int64_t{1} << 53) + 1}}};
  query::Budget budget({});
  CHECK(matrix_json({answer}, {1010 * kSecond, 1010 * kSecond, kSecond}, budget) ==
        R"({"metric":{"__name__":"m"},"values":[[1010,"9007199254740993"]]})");
}

TEST_CASE("an absent label is an empty one, to expressions too") {
  CHECK(read_selector(R"(x{a=~".*"})", {}).tags.empty());
  CHECK(read_selector(R"(x{a=~".*"})", {}).tags_if_any[0].patterns == Patterns{"~^(.*)$"});
  CHECK(read_selector(R"(x{a=~"b|"})", {}).tags_if_any[0].patterns == Patterns{"~^(b|)$"});
  CHECK(read_selector(R"(x{a=~""})", {}).tags[0].patterns == Patterns{"!*"});
  const query::Query query = read_selector(R"(x{a!~"b|"})", {});
  REQUIRE(query.tags.size() == 2);
  CHECK(query.tags[0].patterns == Patterns{"*"});
  CHECK(query.tags[1].patterns == Patterns{"!~^(b|)$"});
  CHECK(error_of("{a=~\"b|\"}").find("a selector needs a name") != std::string::npos);  // of everything, as there
}

}  // namespace
}  // namespace atalaya::serve
