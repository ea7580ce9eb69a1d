// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/query/time_text.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <ctime>

namespace atalaya::query {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kDay = 86'400 * kSecond;
constexpr int64_t kNow = 1'800'000'000 * kSecond;

int64_t at(const char *text) {
  const auto time = parse_time(text, kNow);
  REQUIRE_MESSAGE(time.ok(), text);
  return time.value();
}

TEST_CASE("every form of a time means the same moment") {
  const int64_t expected = 1'700'000'000 * kSecond;
  CHECK(at("1700000000") == expected);
  CHECK(at("1700000000000") == expected);
  CHECK(at("2023-11-14T22:13:20Z") == expected);
  CHECK(at("2023-11-14t22:13:20z") == expected);
  CHECK(at("2023-11-14 23:13:20+01:00") == expected);
  CHECK(at("2023-11-14T16:43:20-0530") == expected);
  CHECK(at("1700000000.250") == expected + kSecond / 4);
  CHECK(at("1700000000250") == expected + kSecond / 4);
  CHECK(at("2023-11-14T22:13:20.25Z") == expected + kSecond / 4);
}

TEST_CASE("times without a zone are local") {
  setenv("TZ", "UTC-2", 1);
  tzset();
  CHECK(at("2023/11/15-00:13:20") == 1'700'000'000 * kSecond);
  CHECK(at("2023-11-15 00:13:20") == 1'700'000'000 * kSecond);
  CHECK(at("2023-11-15") == (1'700'000'000 - 800) * kSecond);
  CHECK(at("2023/11/15-00:13") == (1'700'000'000 - 20) * kSecond);
  unsetenv("TZ");
  tzset();
}

TEST_CASE("times count back from now") {
  CHECK(at("now") == kNow);
  CHECK(at("-1h") == kNow - 3600 * kSecond);
  CHECK(at("1h30m-ago") == kNow - 5400 * kSecond);
  CHECK(at("2w-ago") == kNow - 14 * kDay);
  CHECK(at("1n-ago") == kNow - 30 * kDay);
  CHECK(at("-1y") == kNow - 365 * kDay);
}

TEST_CASE("an invalid time is refused with an example") {
  for (const char *text :
       {"", "tomorrow", "2023-02-30", "2023-13-01", "2023-11-14T25:00:00Z", "2023-11-14T22:13:20.Z", "-", "-1", "1e300", "nan",
        "inf", "2023-11-14T22:13:20+99:00", "99999999999999999999", "2023/11/14-22:13:20Z", "9999-12-31T00:00:00Z"})
    CHECK_MESSAGE(!parse_time(text, kNow).ok(), text);
  CHECK(parse_time("noon", kNow).error() ==
        "\"noon\" is not a time; write now, -1h, 2026-11-21T10:00:00Z, 2026/11/21-10:00:00, or Unix seconds or milliseconds");
}

TEST_CASE("times are from 1970 to 2199, so that computed times stay valid") {
  CHECK(at("0") == 0);
  CHECK(at("2199-12-31T23:59:59Z") == 7'258'118'399 * kSecond);
  for (const char *text : {"2200-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "-60y", "7258118400", "9223372035"})
    CHECK(parse_time(text, kNow).error() == "\"" + std::string(text) + "\" is not a time from 1970 to 2199");
  CHECK_FALSE(parse_time("-4000000000y", kNow).ok());
}

TEST_CASE("a time is written so that it reads back") {
  CHECK(time_text(1'700'000'000 * kSecond) == "2023-11-14T22:13:20Z");
  CHECK(time_text(1'700'000'000 * kSecond + kSecond / 4) == "2023-11-14T22:13:20.25Z");
  CHECK(time_text(-1) == "1969-12-31T23:59:59.999999999Z");
  CHECK(at(time_text(kNow + 1).c_str()) == kNow + 1);
}

}  // namespace
}  // namespace atalaya::query
