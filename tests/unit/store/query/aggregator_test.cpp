// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/query/arithmetic/aggregator.h"

#include <doctest/doctest.h>

#include <vector>

namespace atalaya::query {
namespace {

double of(const char *name, std::vector<double> values) {
  return Aggregator::find(name)->apply(values);
}

TEST_CASE("each aggregator computes the value that its name states") {
  CHECK(of("sum", {1, 2, 6}) == 9);
  CHECK(of("zimsum", {1, 2, 6}) == 9);
  CHECK(of("avg", {1, 2, 6}) == 3);
  CHECK(of("min", {2, 1, 6}) == 1);
  CHECK(of("mimmax", {2, 6, 1}) == 6);
  CHECK(of("count", {2, 6, 1}) == 3);
  CHECK(of("dev", {2, 4, 4, 4, 5, 5, 7, 9}) == doctest::Approx(2));
  CHECK(of("dev", {7}) == 0);
  CHECK(of("first", {2, 6, 1}) == 2);
  CHECK(of("last", {2, 6, 1}) == 1);
}

TEST_CASE("percentiles lie at p (n + 1) / 100, between two values on the line, and never outside of them") {
  CHECK(of("median", {3, 1, 2}) == 2);
  CHECK(of("p50", {4, 1, 3, 2}) == 2.5);
  CHECK(of("p25", {1, 2, 3, 4, 5}) == 1.5);
  CHECK(of("p95", {1, 2}) == 2);
  CHECK(of("p1", {1, 2}) == 1);
  CHECK(of("p95", {8}) == 8);
  CHECK(Aggregator::find("p999")->percentile == 99.9);
  CHECK(Aggregator::find("p99.9")->percentile == 99.9);
}

TEST_CASE("other words are not taken for an aggregator") {
  for (const char *name : {"", "p", "p0", "p101", "px", "p5x", "Sum", "summ", "pnan", "none"}) CHECK_FALSE(Aggregator::find(name));
}

}  // namespace
}  // namespace atalaya::query
