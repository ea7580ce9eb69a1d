// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/btrace/times.h"

#include "tests/unit/protocols/btrace/line_bench.h"

namespace atalaya::testing {
using namespace btrace;

TEST_CASE("times: the unit of a Unix time by its size") {
  CHECK(parse_epoch("1700000000") == 1'700'000'000 * kSecond);
  CHECK(parse_epoch("1700000000123") == 1'700'000'000'123'000'000);
  CHECK(parse_epoch("1700000000123456") == 1'700'000'000'123'456'000);
  CHECK(parse_epoch("1700000000123456789") == 1'700'000'000'123'456'789);
  CHECK(parse_epoch("1700000000.000000001") == 1'700'000'000 * kSecond + 1);
  CHECK(parse_epoch("1700000000.5") == 1'700'000'000 * kSecond + kSecond / 2);
  for (const char *text : {"", "0", "-5", "x", "1.", "1.x", "1e9", "99999999999999999999", "9999999999999.5", "17 ", "9223372037",
                           "20261122094842", "9223372036855", "9223372036854776"})
    CHECK_MESSAGE(!parse_epoch(text), text);
}

TEST_CASE("times: by a format, with a fraction") {
  CHECK(parse_time("2023-11-14 22:13:20,250", "%Y-%m-%d %H:%M:%S", true) == kNow + kSecond / 4);
  CHECK(parse_time("2023-11-14T22:13:20.000000001", "%Y-%m-%dT%H:%M:%S", true) == kNow + 1);
  CHECK(parse_time("2023-11-14 22:13:20", "%Y-%m-%d %H:%M:%S", true) == kNow);
  for (const char *text : {"", "2023", "2023-11-14 22:13:20x", "2023-11-14 22:13:20,", "2023-11-14 22:13:20,12x"})
    CHECK_MESSAGE(!parse_time(text, "%Y-%m-%d %H:%M:%S", true), text);
}

TEST_CASE("times: a clock's time is the nearest one, also around midnight") {
  int64_t time = 0;
  tm parts{};
  const time_t now = kNow / kSecond;
  localtime_r(&now, &parts);
  for (const int64_t off : {-11 * 3600, -5, 0, 5, 11 * 3600}) {
    const time_t then = now + off;
    localtime_r(&then, &parts);
    char clock[32];
    strftime(clock, sizeof(clock), "%H:%M:%S:007 : x", &parts);
    CHECK(message_time(clock, kNow, time) == 15);
    CHECK(time == kNow + off * kSecond + 7'000'000);
  }
  for (const char *text : {"", "12:00:00:000: x", "24:00:00:000 : x", "12:60:00:000 : x", "1x:00:00:000 : x", "12:00:00:000 :"})
    CHECK(message_time(text, kNow, time) == 0);
}

}  // namespace atalaya::testing
