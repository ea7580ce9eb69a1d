// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/experiments/experiments.h"

#include <doctest/doctest.h>

#include "tests/unit/store/query/span_store.h"

namespace atalaya::query::test {
namespace {

using namespace experiments;

Experiment made(const char *name, const char *workload, int64_t start, int64_t duration) {
  return {name, workload, "ada", "a note", {{"nodes", "7"}}, start, duration};
}

TEST_CASE("an experiment is a span, and the span contains all of it") {
  SpanStore store;
  store.span(made("terasort", "", 10, 50));
  store.span(made("terasort", "run 1", 12, -1));
  store.span(made("tera*", "", 100, 5));
  const auto all = experiments::experiments(store, "terasort");
  REQUIRE(all.size() == 2);
  CHECK(all[0].user == "ada");
  CHECK(all[0].notes == "a note");
  CHECK(all[0].tags == Tags{{"nodes", "7"}});
  CHECK(all[1].workload == "run 1");
  CHECK(all[1].open());
  CHECK(all[1].end_ns(99) == 99);
  CHECK(experiments::experiments(store, "tera*").size() == 1);
  CHECK(experiments::experiments(store).size() == 3);
}

TEST_CASE("an end beyond the range of times is the last time") {
  Experiment absurd;
  absurd.start_ns = kT0;
  absurd.duration_ns = INT64_MAX;
  CHECK(absurd.end_ns(0) == INT64_MAX);
}

TEST_CASE("the last one of a name counts, and a deleted one not at all") {
  SpanStore store;
  store.span(made("e", "", 10, 5));
  store.span(made("e", "", 20, 5));
  store.span(made("e", "", 30, 5), true);
  CHECK(find_experiment(store, "e", "").start_ns == 20);
}

TEST_CASE("a missing one is named together with similar names") {
  SpanStore store;
  store.span(made("terasort", "", 10, 50));
  store.span(made("terasort", "run1", 12, 5));
  const auto error = [&](const char *name, const char *workload) {
    try {
      find_experiment(store, name, workload);
    } catch (const Wrong &wrong) {
      return std::string(wrong.what());
    }
    return std::string();
  };
  CHECK(error("terasrot", "") == "experiment \"terasrot\" is not in the store memory; did you mean \"terasort\"?");
  CHECK(error("terasort", "run2") == "experiment \"terasort\" has no workload \"run2\"; did you mean \"run1\"?");
}

TEST_CASE("names are short and plain") {
  CHECK_NOTHROW(check_name("experiment", "TeraSort 2026-11/a_b.c:d@e+f"));
  CHECK_NOTHROW(check_name("experiment", "Versuch für Köln"));
  for (const char *name : {"", "-x", "a\"b", "a\nb", "<script>"}) CHECK_THROWS_AS(check_name("experiment", name), Wrong);
  CHECK_THROWS_AS(check_name("experiment", std::string(201, 'a')), Wrong);
}

}  // namespace
}  // namespace atalaya::query::test
