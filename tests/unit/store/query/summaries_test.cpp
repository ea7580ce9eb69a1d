// SPDX-License-Identifier: Apache-2.0
// Summaries of whole windows next to points of the same series, as stores hand them over.
#include <doctest/doctest.h>

#include "plugins/shared/store/query/windows/downsample.h"
#include "plugins/shared/store/query/windows/integral.h"
#include "plugins/shared/store/query/windows/over_time.h"

namespace atalaya::query {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

struct TenMinutes {
  explicit TenMinutes(const char *text) : wanted(parse_downsample(text).value()), intervals(wanted, range, Edge::end) {}
  double value(OverTime &over_time) const {
    const auto points = over_time.take();
    REQUIRE(points.size() == 1);
    return points[0].value;
  }

  Range range{0, 600 * kSecond};
  Downsample wanted;
  Intervals intervals;
  Budget budget{{}};
};

store::Summary summary_of(int64_t count, int64_t first_s, int64_t last_s, double first, double last, double integral,
                          int64_t length_s) {
  store::Summary summary{
      count, first_s * kSecond, last_s * kSecond, first + last, std::min(first, last), std::max(first, last), first, last};
  summary.integral = integral * static_cast<double>(kSecond);
  summary.durations_ns = length_s * kSecond;
  return summary;
}

TEST_CASE("the first value is that of a window over the border, not of a summary of windows of several lengths") {
  TenMinutes all("10m-first");
  OverTime over_time(all.intervals, *all.wanted.function, all.budget);
  over_time.add(10 * kSecond, 300 * kSecond, 7);                    // begins before the interval
  REQUIRE(over_time.add(summary_of(3, 11, 600, 1, 3, 1000, 590)));  // windows of 1, 300 and 289 s
  CHECK(all.value(over_time) == 7);
}

TEST_CASE("the average of a summary of equal values is this value") {
  TenMinutes all("10m-avg");
  OverTime over_time(all.intervals, *all.wanted.function, all.budget);
  const double third = 1 / 3.0;
  double sum = 0;
  for (int i = 0; i < 600; ++i) sum += third;
  REQUIRE(over_time.add(summary_of(600, 1, 600, third, third, sum, 600)));
  CHECK(all.value(over_time) == third);
}

TEST_CASE("an instant before a summary of windows has no weight") {
  TenMinutes all("10m");
  const store::CollectedTime unknown;
  Integral integral(all.intervals, false, unknown, all.budget);
  integral.add(5 * kSecond, 0, 1000);
  REQUIRE(integral.add(summary_of(3, 11, 600, 1, 3, 1180, 590)));
  const auto points = integral.take();
  REQUIRE(points.size() == 1);
  CHECK(points[0].value == doctest::Approx(2));
}

}  // namespace
}  // namespace atalaya::query
