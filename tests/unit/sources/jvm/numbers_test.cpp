// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/jvm/numbers.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace atalaya::jvm {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

JvmCounters shared(std::initializer_list<std::pair<Counter, int64_t>> numbers) {
  JvmCounters made;
  for (const auto &[counter, number] : numbers) made.numbers[static_cast<size_t>(counter)] = number;
  made.numbers[static_cast<size_t>(Counter::frequency)] = kSecond;
  return made;
}

const CounterMetric &named(std::string_view name) {
  const auto *found = std::find_if(kCounterMetrics.begin(), kCounterMetrics.end(),
                                   [&](const CounterMetric &metric) { return metric.name == name; });
  REQUIRE(found != kCounterMetrics.end());
  return *found;
}

std::optional<Number> value(std::string_view name, Reading now, const Reading *before) {
  now.paused = count_pauses(now.shared, now.time_ns, {}, before == nullptr ? nullptr : &before->paused,
                            before == nullptr ? 0 : now.time_ns - before->time_ns);
  return number_of(named(name), now, before);
}

// With no window before it.
Reading started(const JvmCounters &shared, int64_t time_ns) {
  return {shared, time_ns, count_pauses(shared, time_ns, {}, nullptr, 0)};
}

}  // namespace

TEST_CASE("gauges and totals need one reading, amounts and shares two") {
  const Reading before =
      started(shared({{Counter::young_count, 10}, {Counter::young_ticks, kSecond}, {Counter::eden_used, 7}}), 100 * kSecond);
  const Reading now{shared({{Counter::young_count, 12}, {Counter::young_ticks, 2 * kSecond}, {Counter::eden_used, 5}}),
                    110 * kSecond};
  CHECK(value("jvm.heap.eden.used", now, nullptr) == Number(int64_t{5}));
  CHECK(value("jvm.gc.young.count", now, nullptr) == Number(int64_t{12}));
  CHECK(value("jvm.gc.young.seconds", now, nullptr) == Number(2.0));
  CHECK_FALSE(value("jvm.gc.young.collections", now, nullptr));
  CHECK_FALSE(value("jvm.gc.time", now, nullptr));
  CHECK(value("jvm.gc.young.collections", now, &before) == Number(int64_t{2}));
  CHECK(value("jvm.gc.young.time", now, &before) == Number(10.0));
  CHECK(value("jvm.gc.time", now, &before) == Number(10.0));
  CHECK_FALSE(value("jvm.gc.full.count", now, &before));  // this JVM has none
}

TEST_CASE("sums are of the known values") {
  const Reading now{shared({{Counter::old_used, 5}, {Counter::young_ticks, kSecond}, {Counter::concurrent_ticks, kSecond / 2}}),
                    kSecond};
  CHECK(value("jvm.heap.used", now, nullptr) == Number(int64_t{5}));
  CHECK(value("jvm.gc.seconds", now, nullptr) == Number(1.5));
}

TEST_CASE("a counter that goes down leaves a gap, and one that is new too") {
  const Reading before = started(shared({{Counter::young_count, 10}, {Counter::young_ticks, 5}}), 0);
  const Reading now{shared({{Counter::young_count, 9}, {Counter::young_ticks, 6}, {Counter::full_ticks, 1}}), kSecond};
  CHECK_FALSE(value("jvm.gc.young.collections", now, &before));
  CHECK_FALSE(value("jvm.gc.full.time", now, &before));
  CHECK_FALSE(value("jvm.gc.time", now, &before));
}

TEST_CASE("no share of no time, and none without the clock's frequency") {
  const Reading before = started(shared({{Counter::young_ticks, 5}}), kSecond);
  CHECK_FALSE(value("jvm.gc.time", before, &before));
  Reading now{shared({{Counter::young_ticks, 6}}), 2 * kSecond};
  now.shared.numbers[static_cast<size_t>(Counter::frequency)].reset();
  CHECK_FALSE(value("jvm.gc.time", now, &before));
  CHECK_FALSE(value("jvm.gc.young.seconds", now, &before));
}

TEST_CASE("a JVM that has just begun has counted from 0") {
  const Reading now{shared({{Counter::young_count, 3}, {Counter::young_ticks, kSecond}}), 10 * kSecond};
  const Reading first = first_reading(now.shared, 6 * kSecond);
  CHECK(value("jvm.gc.young.collections", now, &first) == Number(int64_t{3}));
  CHECK(value("jvm.gc.time", now, &first) == Number(25.0));
  CHECK(collections(now.shared) == 3);
}

TEST_CASE("each metric is declared once") {
  std::set<std::string_view> names;
  for (const Metric &metric : kMetrics) CHECK(names.insert(view(metric.name)).second);
}

}  // namespace atalaya::jvm
