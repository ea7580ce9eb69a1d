// SPDX-License-Identifier: Apache-2.0
#include "core/base/text/units.h"

#include <doctest/doctest.h>

#include <limits>
#include <random>

#include "core/base/text/suggest.h"

using namespace atalaya::core;

TEST_CASE("durations are read in nanoseconds") {
  CHECK(parse_duration("250ms").value() == 250'000'000);
  CHECK(parse_duration("5s").value() == 5'000'000'000);
  CHECK(parse_duration("1h30m").value() == 5400'000'000'000);
  CHECK(parse_duration("1d 2h").value() == 26 * 3600'000'000'000);
  CHECK(parse_duration("1.5 s").value() == 1'500'000'000);
  CHECK(parse_duration("0.1s").value() == 100'000'000);
  CHECK(parse_duration("7us3ns").value() == 7003);
  CHECK(parse_duration("0s").value() == 0);
  CHECK(parse_duration("2y").value() == parse_duration("730d").value());
  CHECK(parse_duration("1y1w1d").value() == parse_duration("373d").value());
  CHECK(format_duration(parse_duration("2y").value()) == "730d");
}

TEST_CASE("sizes are read in bytes") {
  CHECK(parse_size("64 MiB").value() == 64 << 20);
  CHECK(parse_size("1GiB").value() == 1 << 30);
  CHECK(parse_size("512 KiB").value() == 512 << 10);
  CHECK(parse_size("10 kB").value() == 10'000);
  CHECK(parse_size("1.5 MiB").value() == 3 << 19);
  CHECK(parse_size("0 B").value() == 0);
}

TEST_CASE("an invalid duration or size is refused with the valid form") {
  CHECK(parse_duration("").error() == R"("" is not a duration; write a number and a unit, such as "5s")");
  CHECK(parse_duration("-5s").error() == R"("-5s" is not a duration; write a number and a unit, such as "5s")");
  CHECK(parse_duration("5").error() == R"("5" has no unit; write "5s" (units: ns us ms s m h d w y))");
  CHECK(parse_duration("5 min").error() == R"("5 min": unknown unit "min" (units: ns us ms s m h d w y))");
  CHECK(parse_duration("1m1h").error() == R"("1m1h": larger units come first, each once, as in "1h30m")");
  CHECK(parse_duration("1s1s").error() == R"("1s1s": larger units come first, each once, as in "1h30m")");
  CHECK(parse_duration("200000000d").error() == R"("200000000d" is too long)");
  CHECK(parse_duration("99999999999999999999s").error() == R"("99999999999999999999s" is too long)");
  CHECK(parse_size("64").error() == R"("64" has no unit; write "64 MiB" (units: B kB MB GB TB KiB MiB GiB TiB))");
  CHECK(parse_size("64 M").error() == R"("64 M": unknown unit "M" (units: B kB MB GB TB KiB MiB GiB TiB))");
  CHECK(parse_size("1 MiB 1 KiB").error() == R"("1 MiB 1 KiB" is not a size; write a number and a unit, such as "64 MiB")");
  CHECK(parse_size("9000000 TiB").error() == R"("9000000 TiB" is too large)");
  CHECK(parse_size("\x1b[1m").error() == R"("\x1b[1m" is not a size; write a number and a unit, such as "64 MiB")");
}

TEST_CASE("durations and sizes are written in the shortest exact form") {
  CHECK(format_duration(5'000'000'000) == "5s");
  CHECK(format_duration(90'000'000'000) == "1m30s");
  CHECK(format_duration(1'500'000'000) == "1s500ms");
  CHECK(format_duration(0) == "0s");
  CHECK(format_size(64 << 20) == "64 MiB");
  CHECK(format_size(10'000) == "10 kB");
  CHECK(format_size(1) == "1 B");
}

TEST_CASE("a written value reads back the same") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    const auto number = static_cast<int64_t>(random() >> (1 + random() % 63));
    CHECK(parse_duration(format_duration(number)).value() == number);
    CHECK(parse_size(format_size(number)).value() == number);
  }
  CHECK(parse_duration(format_duration(std::numeric_limits<int64_t>::max())).value() == std::numeric_limits<int64_t>::max());
}

TEST_CASE("a mistyped name finds the one that was meant") {
  const std::vector<std::string> known = {"interval", "every", "proc", "perf", "when_full"};
  CHECK(nearest("intreval", known) == "interval");
  CHECK(nearest("prco", known) == "proc");
  CHECK(nearest("Proc", known) == "proc");
  CHECK(nearest("whenfull", known) == "when_full");
  CHECK(nearest("host", known) == "");
  CHECK(nearest("x", known) == "");
  CHECK(nearest("", known) == "");
  CHECK(nearest(std::string(1000, 'a'), known) == "");
  CHECK(did_you_mean("evry", known) == "; did you mean \"every\"?");
}
