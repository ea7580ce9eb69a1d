// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/serve/prometheus/promql.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/text/json.h"
#include "tests/unit/store/query/resting_world.h"

namespace atalaya::serve {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

// Values at steps of 10 s, from 10 s on: "host=a: 1 2 -", by labels.
std::string result_of(const std::string &text, query::test::MemoryStore &store, int steps = 3, bool instant = false) {
  const int64_t from = query::test::kT0 + 10 * kSecond;
  const Steps at{from, from + (steps - 1) * 10 * kSecond, 10 * kSecond};
  query::Budget budget({});
  std::string out;
  for (const Column &column : evaluated(*read_promql(text), at, instant, store, budget).columns) {
    out += out.empty() ? "" : "; ";
    for (const auto &[key, value] : column.labels) out += key + "=" + value + " ";
    for (const double value : column.values) {
      core::append_number(out += out.empty() || out.back() == ' ' ? "" : ",", is_absent(value) ? -999 : value);
    }
  }
  return out;
}

std::string number(const std::string &text) {
  query::test::MemoryStore store;
  return result_of(text, store, 1);
}

std::string refusal(const std::string &text) {
  try {
    read_promql(text);
  } catch (const query::Wrong &wrong) {
    return wrong.what();
  }
  return "";
}

TEST_CASE("operators bind as Prometheus' do") {
  CHECK(number("1 + 2 * 3") == "7");
  CHECK(number("(1 + 2) * 3") == "9");
  CHECK(number("-2 ^ 2") == "-4");
  CHECK(number("2 ^ 3 ^ 2") == "512");
  CHECK(number("10 - 4 - 3") == "3");
  CHECK(number("7 % 4 / 2 # a comment") == "1.5");
  CHECK(number("1 + 1 > bool 1") == "1");
  CHECK(number("2 ^ -1") == "0.5");
  CHECK(number("1e3 + .5") == "1000.5");
}

TEST_CASE("an error has its position, and names what is not supported") {
  const auto check = [](const char *text, const char *position, const char *what) {
    CAPTURE(text);
    CAPTURE(refusal(text));
    CHECK(refusal(text).find(std::string("position ") + position + ":") != std::string::npos);
    CHECK(refusal(text).find(what) != std::string::npos);
  };
  check("histogram_quantile(0.9, x)", "1", "the function \"histogram_quantile\" is not supported; supported are");
  check("sum(x) or y", "8", "the operator or is not supported");
  check("x / on(a) group_left y", "11", "group_left is not supported");
  check("x[5m:1m]", "5", "a subquery is not supported");
  check("x @ 5", "3", "the modifier @ is not supported");
  check("rate(x)", "1", "rate needs a range, such as rate(x[5m])");
  check("x[5m]", "1", "a range such as [5m] needs a function");
  check("sum(1)", "1", "sum needs series");
  check("1 > 2", "3", "a comparison of numbers needs bool");
  check("x[5]", "4", "expected a unit of time");
  check("sum by (a x)", "11", "expected");
  check("1 +", "4", "expected a metric, a number or a function");
  check("topk(x, y)", "1", "topk needs a number");
  check("1 + bool 2", "3", "bool belongs to comparisons");
  CHECK(refusal(std::string(500, '(')).find("nested more than 64 times") != std::string::npos);
  CHECK(refusal(std::string(30'000, ' ')).find("20000 bytes") != std::string::npos);
}

TEST_CASE("aggregations, by and without") {
  query::test::MemoryStore store;
  for (const auto &[host, pid, value] : {std::tuple{"a", "1", 1.0}, {"a", "2", 2.0}, {"b", "3", 6.0}})
    store.add_windows("m.x", {{"host", host}, {"pid", pid}}, {{10, 10, value}, {20, 10, value * 10}});
  CHECK(result_of("sum(m_x)", store, 2) == "9,90");
  CHECK(result_of("sum by (host) (m_x)", store, 2) == "host=a 3,30; host=b 6,60");
  CHECK(result_of("sum(m_x) without (pid)", store, 2) == "host=a 3,30; host=b 6,60");
  CHECK(result_of("avg by (host) (m_x{pid!=\"3\"})", store, 2) == "host=a 1.5,15");
  CHECK(result_of("max(m_x) - min(m_x)", store, 2) == "5,50");
  CHECK(result_of("count(m_x > 1)", store, 2) == "2,3");
  CHECK(result_of("count(m_x > bool 1)", store, 2) == "3,3");
  CHECK(result_of("topk(1, m_x)", store, 2) == "__name__=m_x host=b pid=3 6,60");
  CHECK(result_of("topk by (host) (1, m_x)", store, 1) == "__name__=m_x host=a pid=2 2; __name__=m_x host=b pid=3 6");
  CHECK(result_of("topk(0, m_x)", store, 1).empty());
  CHECK(result_of("sum(nothing)", store, 1).empty());
}

TEST_CASE("series meet by their labels") {
  query::test::MemoryStore store;
  for (const char *host : {"a", "b"}) {
    store.add_windows("used", {{"host", host}}, {{10, 10, 1}, {20, 10, 3}});
    if (*host == 'a') store.add_windows("all", {{"host", host}}, {{10, 10, 4}, {20, 10, 4}});
    store.add_windows("disk", {{"host", host}, {"disk", "x"}}, {{10, 10, 2}, {20, 10, 2}});
  }
  CHECK(result_of("used / all * 100", store, 2) == "host=a 25,75");
  CHECK(result_of("used + on(host) disk", store, 2) == "host=a 3,5; host=b 3,5");
  CHECK(result_of("used * ignoring(disk) disk", store, 2) == "host=a 2,6; host=b 2,6");
  CHECK(result_of("1 - used", store, 2) == "host=a 0,-2; host=b 0,-2");
  CHECK(result_of("used > 2", store, 2) == "__name__=used host=a -999,3; __name__=used host=b -999,3");
  CHECK(result_of("-used", store, 1) == "host=a -1; host=b -1");
  CHECK(result_of("used offset 10s", store, 2) == "__name__=used host=a -999,1; __name__=used host=b -999,1");
  CHECK_THROWS_AS(result_of("used + on() all", store, 1), query::Wrong);
}

TEST_CASE("functions of ranges see the samples after the start of the range") {
  query::test::MemoryStore store;
  store.add_windows("m", {{"host", "a"}}, {{10, 10, 1}, {20, 10, 5}, {30, 10, 2}});
  CHECK(result_of("sum_over_time(m[20s])", store) == "host=a 1,6,7");
  CHECK(result_of("avg_over_time(m[20s])", store) == "host=a 1,3,3.5");
  CHECK(result_of("max_over_time(m[10s])", store) == "host=a 1,5,2");
  CHECK(result_of("count_over_time(m[1m])", store) == "host=a 1,2,3");
  CHECK(result_of("last_over_time(m[1m])", store) == "__name__=m host=a 1,5,2");
  CHECK(result_of("min_over_time(m[1m] offset 10s)", store) == "host=a -999,1,1");
}

// Values of one process at one second; nothing: it has none.
std::map<std::string, double> at_second(const std::string &text, int second, bool instant, query::test::MemoryStore &store) {
  const int64_t time = query::test::kT0 + second * kSecond;
  query::Budget budget({});
  std::map<std::string, double> by_pid;
  for (const Column &column : evaluated(*read_promql(text), {time, time, 60 * kSecond}, instant, store, budget).columns)
    if (!is_absent(column.values[0])) by_pid[column.labels.at("pid")] = column.values[0];
  return by_pid;
}

TEST_CASE("functions of ranges and instants have the values of each second, whatever windows are merged") {
  using query::test::between, query::test::value_of;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    query::test::RestingWorld world(seed);
    for (int i = 0; i < 20; ++i) {
      const int range = world.any(1, 300), second = world.any(300, query::test::kEnd);
      for (query::test::MemoryStore *store : {&world.each, &world.merged})
        for (const std::string function : {"avg", "min", "max", "last"}) {
          INFO("seed " << seed << ", " << function << " of " << range << " s at " << second << ", merged "
                       << (store == &world.merged));
          const auto values =
              at_second(function + "_over_time(proc_mem_resident[" + std::to_string(range) + "s])", second, false, *store);
          const auto now = at_second("proc_mem_resident", second, true, *store);
          size_t known_pids = 0;
          for (const auto &[process, pids] : world.of)
            for (const auto &[pid, seconds] : pids) {
              const std::vector<double> known = between(seconds, second - range, second),
                                        present = between(seconds, second - 1, second);
              known_pids += known.empty() ? 0 : 1;
              REQUIRE(values.count(pid) == (known.empty() ? 0 : 1));
              if (!known.empty()) CHECK(values.at(pid) == doctest::Approx(value_of(function, known, 0)).epsilon(1e-9));
              if (present.empty()) continue;
              REQUIRE(now.count(pid) == 1);
              CHECK(now.at(pid) == present[0]);
            }
          CHECK(values.size() == known_pids);
        }
    }
  }
}

TEST_CASE("a rate continues to the edges of its range") {
  const Steps at{60 * kSecond, 60 * kSecond, kSecond};
  query::Budget budget({});
  const auto increase = [&](const std::vector<query::Point> &points) {
    return over_time("increase", points, at, 60 * kSecond, budget)[0];
  };
  // 10 a second, with samples at 10, 20, .. 50.
  CHECK(increase({{10 * kSecond, 1100}, {30 * kSecond, 1300}, {50 * kSecond, 1500}}) == doctest::Approx(600));
  // A counter that began at 0 at the first sample.
  CHECK(increase({{10 * kSecond, 0}, {30 * kSecond, 200}, {50 * kSecond, 400}}) == doctest::Approx(500));
  // A reset after 1300.
  CHECK(increase({{10 * kSecond, 1100}, {30 * kSecond, 1300}, {50 * kSecond, 200}}) == doctest::Approx(600));
  // Far from the end of the range: half an interval is added.
  CHECK(increase({{5 * kSecond, 1000}, {10 * kSecond, 1050}, {15 * kSecond, 1100}}) == doctest::Approx(100 * (10 + 5 + 2.5) / 10));
  CHECK(is_absent(increase({{10 * kSecond, 1}})));
  CHECK(over_time("rate", {{10 * kSecond, 1100}, {50 * kSecond, 1500}}, at, 60 * kSecond, budget)[0] == doctest::Approx(10));
}

TEST_CASE("a value that is not a number is not an absent one") {
  CHECK(is_absent(absent()));
  CHECK_FALSE(is_absent(NAN));
  CHECK_FALSE(is_absent(0));
  const Columns columns = {{{{"a", "b"}}, {NAN, absent(), 1}}};
  CHECK(matrix_json(columns, {0, 2 * kSecond, kSecond}) == R"({"metric":{"a":"b"},"values":[[0,"NaN"],[2,"1"]]})");
  CHECK(vector_json(columns, kSecond) == R"({"metric":{"a":"b"},"value":[1,"NaN"]})");
  CHECK(matrix_json({{{}, {absent()}}}, {0, 0, 1}).empty());
}

}  // namespace
}  // namespace atalaya::serve
