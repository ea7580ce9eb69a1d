// SPDX-License-Identifier: Apache-2.0
// The law of windows without a thread dump: the resources of a process are the sum over its windows, whichever of them have one.
#include "plugins/shared/analysis/phases/assemble.h"

#include <doctest/doctest.h>

#include <random>

#include "plugins/shared/analysis/phases/usage.h"

namespace atalaya::phases {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

Assembled window(double cpu, double gc_percent, bool has_dump) {
  Assembled made;
  made.duration_ns = kSecond;
  made.take("proc.cpu.user", cpu, kSecond);
  made.take("jvm.gc.time", gc_percent, kSecond);
  made.take("jvm.profile.rate", has_dump ? 1 : 0, kSecond);
  made.has_stacks = has_dump;
  return made;
}

TEST_CASE("the CPU time of windows does not depend on which of them have a dump") {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    const auto any = [&](int from, int to) { return from + static_cast<int>(random() % static_cast<unsigned>(to - from + 1)); };
    WindowsWithoutDump undumped;
    Usage usage;
    double used = 0, seconds = 0;
    for (int i = 1, since = 0; i <= 200; ++i) {
      const bool has_dump = i == 200 || since == 5 || any(0, 2) == 0;
      since = has_dump ? 0 : since + 1;
      const double cpu = any(0, 400);
      used += cpu;
      Assembled made = window(cpu, any(0, 30), has_dump);
      if (undumped.add_window(i * kSecond, made)) continue;
      usage.add(made.resources);
      seconds += static_cast<double>(made.duration_ns) / 1e9;
    }
    CAPTURE(seed);
    CHECK(seconds == 200);
    CHECK(usage.by_resource[kCpu].mean * seconds == doctest::Approx(used));
  }
}

TEST_CASE("a window in a collection does not make those before it one") {
  WindowsWithoutDump undumped;
  Assembled quiet = window(100, 1, false), collects = window(100, 80, false);
  CHECK(undumped.add_window(1 * kSecond, quiet));
  CHECK(undumped.add_window(2 * kSecond, quiet = window(100, 1, false)));
  CHECK(undumped.add_window(3 * kSecond, collects));  // together they have no dump, and mostly do not collect
  Assembled dumped = window(100, 1, true);
  CHECK(!undumped.add_window(4 * kSecond, dumped));
  CHECK(dumped.duration_ns == 4 * kSecond);
  CHECK(dumped.gc_percent.value() == doctest::Approx(83 / 4.0));
}

TEST_CASE("a window that the source jvm missed is not idle") {
  WindowsWithoutDump undumped;
  Assembled first = window(100, 1, true), missed;
  CHECK(!undumped.add_window(1 * kSecond, first));
  missed.duration_ns = kSecond;
  missed.take("proc.cpu.user", 100, kSecond);
  CHECK(undumped.add_window(2 * kSecond, missed));
}

}  // namespace
}  // namespace atalaya::phases
