// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/units/unit_text.h"

#include <doctest/doctest.h>

#include <iterator>
#include <random>
#include <string>

#include "core/base/text/ucum.h"

using namespace atalaya;
using namespace atalaya::core;

namespace {

std::string random_unit(std::mt19937 &random) {
  static constexpr const char *kTerms[] = {"By", "MiBy", "s", "ms", "W", "J", "Cel", "{sample}", "%", "bit", "Hz", "1"};
  std::string unit = kTerms[random() % std::size(kTerms)];
  for (auto more = random() % 3; more > 0; --more)
    unit += (random() % 2 == 0 ? "/" : ".") + std::string(kTerms[random() % std::size(kTerms)]);
  return unit;
}

}  // namespace

TEST_CASE("units are shown as people write them") {
  const std::pair<const char *, const char *> shown[] = {{"MiBy/s", "MiB/s"}, {"By", "B"},      {"Cel", "°C"},      {"us", "µs"},
                                                         {"{core}", "core"},  {"%{core}", "%"}, {"1", ""},          {"/s", "/s"},
                                                         {"kW.h", "kW·h"},    {"{a/b}", "a/b"}, {"Mibit", "Mibit"}, {"", ""}};
  for (const auto &[unit, text] : shown) CHECK_MESSAGE(io::shown_unit(unit) == text, unit);
}

TEST_CASE("an amount per second and its amount are inverse, and both are units") {
  std::mt19937 random(46);
  for (int i = 0; i < 2000; ++i) {
    const std::string unit = random_unit(random);
    REQUIRE_MESSAGE(is_ucum(unit), unit);
    CHECK_MESSAGE(is_ucum(io::per_second(unit)), unit);
    CHECK_MESSAGE(io::without_per_second(io::per_second(unit)) == unit, unit);
  }
  CHECK(io::per_second("").empty());
  CHECK(io::without_per_second("By").empty());
}
