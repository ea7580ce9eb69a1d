// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/time/time_text.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <ctime>
#include <optional>
#include <random>
#include <string>

namespace atalaya::query {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kDay = 86'400 * kSecond;
constexpr int64_t kNow = 1'800'000'000 * kSecond;

// A zone by its rule, so that no database of zones is needed.
struct InZone {
  explicit InZone(const char *rule) {
    setenv("TZ", rule, 1);
    tzset();
  }
  ~InZone() {
    unsetenv("TZ");
    tzset();
  }
  InZone(const InZone &) = delete;
  InZone &operator=(const InZone &) = delete;
};

// Europe; Lord Howe, whose summer time is 30 minutes; a zone whose clock skips midnight; two without summer time.
constexpr const char *kZones[] = {"CET-1CEST,M3.5.0,M10.5.0/3", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
                                  "<-03>3<-02>,M9.1.0/0,M4.1.0/0", "UTC", "IST-5:30"};

std::string clock_of(int64_t second, const char *format) {
  const time_t time = second;
  std::tm date{};
  localtime_r(&time, &date);
  char text[32];
  std::strftime(text, sizeof text, format, &date);
  return text;
}

// Seconds since midnight of the local clock.
int clock_at(int64_t second) {
  const time_t time = second;
  std::tm date{};
  localtime_r(&time, &date);
  return date.tm_hour * 3600 + date.tm_min * 60 + date.tm_sec;
}

// Times near changes of the clock, and others.
int64_t random_now(std::mt19937_64 &random) {
  constexpr int64_t kChanges[] = {1'774'746'000, 1'792'890'000, 1'775'314'800, 1'791'039'600, 1'788'667'200, 1'775'354'400};
  const auto some = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
  return some(0, 3) == 0 ? some(1'000'000'000, 4'000'000'000) : kChanges[some(0, 5)] + some(-200'000, 200'000);
}

int64_t at(const char *text) {
  const auto time = io::parse_time(text, kNow);
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

TEST_CASE("a clock time is the last second at which the local clock showed it") {
  std::mt19937_64 random(7);
  for (const char *zone : kZones) {
    const InZone in_zone(zone);
    for (int i = 0; i < 20; ++i) {
      const int64_t now = random_now(random);
      const int64_t wanted = now - std::uniform_int_distribution<int64_t>(0, 86'400)(random);
      const bool seconds = i % 2 == 0;
      const std::string text = clock_of(wanted, seconds ? "%H:%M:%S" : "%H:%M");
      // The oracle reads the clock backwards from now.
      int64_t expected = now;
      const int shown = seconds ? clock_at(wanted) : clock_at(wanted) / 60 * 60;
      while (clock_at(expected) != shown) --expected;
      CAPTURE(zone);
      CAPTURE(now);
      CAPTURE(text);
      const auto time = io::parse_time(text, now * kSecond + 5);
      REQUIRE(time.ok());
      CHECK(time.value() == expected * kSecond);
    }
  }
}

TEST_CASE("today and yesterday start with the first second of the local day") {
  std::mt19937_64 random(8);
  for (const char *zone : kZones) {
    const InZone in_zone(zone);
    for (int i = 0; i < 60; ++i) {
      const int64_t now = random_now(random);
      // Days start at quarters of an hour in all these zones.
      const auto day = [](int64_t second) { return clock_of(second, "%F"); };
      const auto start = [&](int64_t second) {
        int64_t quarter = second / 900 * 900;
        while (day(quarter - 1) == day(second)) quarter -= 900;
        return quarter;
      };
      const int64_t today = start(now), yesterday = start(today - 1);
      CAPTURE(zone);
      CAPTURE(now);
      CHECK(io::parse_time("today", now * kSecond).value() == today * kSecond);
      CHECK(io::parse_time("yesterday", now * kSecond).value() == yesterday * kSecond);
    }
  }
}

TEST_CASE("times of tables read back as the same time, in each zone") {
  std::mt19937_64 random(9);
  for (const char *zone : kZones) {
    const InZone in_zone(zone);
    io::LocalTimes one, both;
    for (const int64_t second : {1'769'000'000, 1'784'000'000}) both.add(second * kSecond);
    const bool has_summer_time = io::zone_text(1'769'000'000 * kSecond) != io::zone_text(1'784'000'000 * kSecond);
    CHECK((both.title("time") == "time") == has_summer_time);
    for (int i = 0; i < 60; ++i) {
      const int64_t time = random_now(random) * kSecond + i * 1000;
      if (has_summer_time) CHECK(at(both.text(time).c_str()) == time);
    }
    one.add(kNow);
    CHECK(at(one.text(kNow).c_str()) == kNow);
    CHECK(one.title("time") == "time (" + io::zone_text(kNow) + ")");
  }
  const InZone in_zone("CET-1CEST,M3.5.0,M10.5.0/3");
  CHECK(io::zone_text(1'784'000'000 * kSecond) == "UTC+02:00");
}

TEST_CASE("times count back from now") {
  CHECK(at("10m") == kNow - 600 * kSecond);
  CHECK(at("1w") == kNow - 7 * kDay);
  CHECK(at("now") == kNow);
  CHECK(at("-1h") == kNow - 3600 * kSecond);
  CHECK(at("1h30m-ago") == kNow - 5400 * kSecond);
  CHECK(at("2w-ago") == kNow - 14 * kDay);
  CHECK(at("1n-ago") == kNow - 30 * kDay);
  CHECK(at("-1y") == kNow - 365 * kDay);
}

TEST_CASE("an invalid time is refused with an example") {
  for (const char *text : {"",
                           "tomorrow",
                           "2023-02-30",
                           "2023-13-01",
                           "2023-11-14T25:00:00Z",
                           "2023-11-14T22:13:20.Z",
                           "-",
                           "-1",
                           "1e300",
                           "nan",
                           "inf",
                           "2023-11-14T22:13:20+99:00",
                           "99999999999999999999",
                           "2023/11/14-22:13:20Z",
                           "24:00",
                           "05:60",
                           "05:08:60",
                           "5:08",
                           "05:08 ",
                           "Today",
                           "9999-12-31T00:00:00Z"})
    CHECK_MESSAGE(!io::parse_time(text, kNow).ok(), text);
  CHECK(io::parse_time("noon", kNow).error() ==
        "\"noon\" is not a time; write now, 10m (ago), today, yesterday, 05:08, 2026-11-21T10:00:00Z, 2026/11/21-10:00:00, "
        "or Unix seconds or milliseconds");
}

TEST_CASE("times are from 1970 to 2199, so that computed times stay valid") {
  CHECK(at("0") == 0);
  CHECK(at("2199-12-31T23:59:59Z") == 7'258'118'399 * kSecond);
  for (const char *text : {"2200-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "-60y", "7258118400", "9223372035"})
    CHECK(io::parse_time(text, kNow).error() == "\"" + std::string(text) + "\" is not a time from 1970 to 2199");
  CHECK_FALSE(io::parse_time("-4000000000y", kNow).ok());
}

TEST_CASE("a time is written so that it reads back") {
  CHECK(io::time_text(1'700'000'000 * kSecond) == "2023-11-14T22:13:20Z");
  CHECK(io::time_text(1'700'000'000 * kSecond + kSecond / 4) == "2023-11-14T22:13:20.25Z");
  CHECK(io::time_text(-1) == "1969-12-31T23:59:59.999999999Z");
  CHECK(at(io::time_text(kNow + 1).c_str()) == kNow + 1);
}

}  // namespace
}  // namespace atalaya::query
