// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/experiments/ranges.h"

#include <doctest/doctest.h>

#include <string>

#include "plugins/shared/io/time/time_text.h"
#include "tests/unit/store/query/span_store.h"

namespace atalaya::query::test {
namespace {

using namespace experiments;

constexpr int64_t kMinute = 60 * kSecond;
constexpr int64_t kHour = 3600 * kSecond;
constexpr int64_t kNow = 500'000 * kHour;

class Ranges {
 public:
  Ranges() {
    store_.span({"sort", "", "", "", {}, kNow - 10 * kHour, kHour});
    store_.span({"sort", "", "", "", {}, kNow - 2 * kHour, kHour});
    store_.span({"a:b+c", "", "", "", {}, kNow - 5 * kHour, kMinute});
    store_.span({"open", "", "", "", {}, kNow - kMinute, -1});
  }
  void check(const std::string &text, int64_t from, int64_t to) {
    CAPTURE(text);
    const Range range = range_of("--diff", text, store_, kNow);
    CHECK(range.from_ns == from);
    CHECK(range.to_ns == to);
  }
  void refused(const std::string &text, const std::string &said) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(range_of("--diff", text, store_, kNow), doctest::Contains(said.c_str()), Wrong);
  }
  SpanStore &store() { return store_; }

 private:
  SpanStore store_;
};

TEST_CASE("two times with a colon or two dots between them, though times hold colons") {
  Ranges ranges;
  for (const char *between : {":", ".."}) {
    const auto check = [&](const std::string &first, const std::string &second, int64_t from, int64_t to) {
      ranges.check(first + between + second, from, to);
    };
    check("-2h", "-1h", kNow - 2 * kHour, kNow - kHour);
    check("10m", "5m", kNow - 10 * kMinute, kNow - 5 * kMinute);
    check("10m-ago", "now", kNow - 10 * kMinute, kNow);
    check("1700000000", "1700000060", 1'700'000'000 * kSecond, 1'700'000'060 * kSecond);
    check("2023-11-14T22:13:20Z", "2023-11-14T22:14:20Z", 1'700'000'000 * kSecond, 1'700'000'060 * kSecond);
    check("2023-11-14T23:13:20+01:00", "now", 1'700'000'000 * kSecond, kNow);
    check("sort+5m", "sort+10m", kNow - 2 * kHour + 5 * kMinute, kNow - 2 * kHour + 10 * kMinute);
    check("a:b+c+10s", "a:b+c+20s", kNow - 5 * kHour + 10 * kSecond, kNow - 5 * kHour + 20 * kSecond);
    check("2h", "open+30s", kNow - 2 * kHour, kNow - 30 * kSecond);
  }
}

TEST_CASE("days and clocks in ranges are those of single times") {
  Ranges ranges;
  const auto time = [](const char *text) { return io::parse_time(text, kNow).value(); };
  ranges.check("yesterday..today", time("yesterday"), time("today"));
  ranges.check("yesterday:today", time("yesterday"), time("today"));
  ranges.check("2020-01-01..05:08", time("2020-01-01"), time("05:08"));
  ranges.check("2020-01-01..05:08:30", time("2020-01-01"), time("05:08:30"));
  // 05 and 10 are Unix seconds, too.
  ranges.refused("05:08:05:10", "is ambiguous; write FROM..TO");
}

TEST_CASE("an experiment is its last time") {
  Ranges ranges;
  ranges.check("sort", kNow - 2 * kHour, kNow - kHour);
  ranges.check("a:b+c", kNow - 5 * kHour, kNow - 5 * kHour + kMinute);
  ranges.check("open", kNow - kMinute, kNow);
}

TEST_CASE("a text that is no range is refused with the reason") {
  Ranges ranges;
  ranges.refused("", "--diff \"\" is no range; write FROM..TO");
  ranges.refused("-2h", "is no range");
  ranges.refused("yesterday", "is no range");
  ranges.refused("sort+5m", "is no range");
  ranges.refused("-1h:-2h", "--diff \"-1h:-2h\" ends before it begins");
  ranges.refused("-1h..-1h", "ends before it begins");
  ranges.refused("sort+10m..sort+5m", "ends before it begins");
  ranges.refused("x..now", "--diff \"x..now\": \"x\" is not a time");
  ranges.refused("sort+x..now", "is no time and not EXPERIMENT+LENGTH");
  ranges.refused("srot+5m..now", "experiment \"srot\" is not in the store");
  for (const char *none : {":", "x:y", "-2h-1h", "srot"}) ranges.refused(none, "is not in the store");
  ranges.refused("srot", "did you mean \"sort\"?");
}

TEST_CASE("a single time counts from an experiment, too") {
  Ranges ranges;
  CHECK(time_of("--to", "sort+5m", ranges.store(), kNow) == kNow - 2 * kHour + 5 * kMinute);
  CHECK(time_of("--to", "5m", ranges.store(), kNow) == kNow - 5 * kMinute);
  CHECK_THROWS_WITH_AS(time_of("--to", "soon", ranges.store(), kNow), doctest::Contains("--to: \"soon\" is not a time"), Wrong);
}

}  // namespace
}  // namespace atalaya::query::test
