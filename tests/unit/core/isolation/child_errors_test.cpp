// SPDX-License-Identifier: Apache-2.0
#include "core/isolation/child_errors.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace atalaya::core;

namespace {

constexpr int64_t kSecond = 1'000'000'000;

}  // namespace

TEST_CASE("lines within the limit pass as they are; unfinished ones wait for their end") {
  LineLimit limit;
  CHECK(limit.accept("a\nbc", "p", kSecond) == "a\n");
  CHECK(limit.accept("d\n\n", "p", kSecond) == "bcd\n\n");
  CHECK(limit.accept("last", "p", kSecond) == "");
  CHECK(limit.finish("p", kSecond) == "last\n");
}

TEST_CASE("a flood passes for its burst; then a line says so, and later how many were dropped") {
  LineLimit limit;
  const std::string line(99, 'x');
  std::string out;
  for (int i = 0; i < 10'000; ++i) out += limit.accept(line + "\n", "p", kSecond);
  const std::string warning = "atalaya: warning: p writes too much to standard error: further lines are dropped\n";
  CHECK(out.size() <= kErrorsBurst + warning.size());
  CHECK(out.size() > kErrorsBurst - 200);
  CHECK(out.ends_with(warning));
  const auto passed = std::count(out.begin(), out.end(), '\n') - 1;
  CHECK(limit.accept("y\n", "p", 2 * kSecond) == "");
  CHECK(limit.accept("y\n", "p", 60 * kSecond) ==
        "atalaya: warning: p: " + std::to_string(10'001 - passed) + " lines of standard error dropped\ny\n");
  CHECK(limit.finish("p", 60 * kSecond) == "");
}

TEST_CASE("over a long time at most the rate passes, and a line without end is divided") {
  LineLimit limit;
  size_t passed = 0;
  for (int i = 0; i < 3600; ++i) passed += limit.accept(std::string(100'000, 'x'), "p", (i + 1) * kSecond).size();
  CHECK(passed < kErrorsBurst + 3600 * (kErrorsPerSecond + 100));
  CHECK(passed > 3600 * kErrorsPerSecond / 2);
}
