// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/jvm/numbers.h"

namespace atalaya::jvm {
namespace {

bool needs_before(Conversion conversion) {
  return conversion == Conversion::delta || conversion == Conversion::share || conversion == Conversion::pause;
}

// Returns the sum of the metric's counters that the JVM has; nothing if it has none, or one decreased.
std::optional<int64_t> sum(const CounterMetric &metric, const JvmCounters &now, const JvmCounters *before) {
  std::optional<int64_t> sum;
  for (uint8_t i = 0; i < metric.counter_count; ++i) {
    const auto &number = now[metric.counters[i]];
    if (!number) continue;
    int64_t part = *number;
    if (before != nullptr) {
      const auto &other = (*before)[metric.counters[i]];
      if (!other || *other > part) return std::nullopt;
      part -= *other;
    }
    int64_t next = 0;
    if (__builtin_add_overflow(sum.value_or(0), part, &next)) return std::nullopt;
    sum = next;
  }
  return sum;
}

std::optional<Number> pause_share(const CounterMetric &metric, const Reading &now, const Reading &before) {
  const int64_t passed = now.time_ns - before.time_ns;
  if (passed <= 0) return std::nullopt;
  std::optional<int64_t> sum;
  for (uint8_t i = 0; i < metric.counter_count; ++i) {
    const auto &to = now.paused[metric.counters[i]], &from = before.paused[metric.counters[i]];
    if (to && from) sum = sum.value_or(0) + *to - *from;
  }
  if (!sum) return std::nullopt;
  return round_to(static_cast<double>(*sum) / static_cast<double>(passed) * 100, kPercentDecimals);
}

}  // namespace

std::optional<Number> number_of(const CounterMetric &metric, const Reading &now, const Reading *before) {
  if (needs_before(metric.conversion) && before == nullptr) return std::nullopt;
  const auto value = sum(metric, now.shared, needs_before(metric.conversion) ? &before->shared : nullptr);
  if (!value) return std::nullopt;
  if (metric.conversion == Conversion::pause) return pause_share(metric, now, *before);
  if (metric.conversion != Conversion::seconds && metric.conversion != Conversion::share) return *value;
  const int64_t frequency = now.shared[Counter::frequency].value_or(0);
  if (frequency <= 0) return std::nullopt;
  const double seconds = static_cast<double>(*value) / static_cast<double>(frequency);
  if (metric.conversion == Conversion::seconds) return round_to(seconds, kSecondDecimals);
  const int64_t passed = now.time_ns - before->time_ns;
  if (passed <= 0) return std::nullopt;
  return round_to(seconds * 1e9 / static_cast<double>(passed) * 100, kPercentDecimals);
}

int64_t collections(const JvmCounters &shared) {
  uint64_t sum = 0;
  for (const Counter counter : {Counter::young_count, Counter::full_count, Counter::concurrent_count})
    sum += static_cast<uint64_t>(shared[counter].value_or(0));
  return static_cast<int64_t>(sum);
}

Reading first_reading(const JvmCounters &now, int64_t time_ns) {
  Reading first{now, time_ns};
  for (auto &number : first.shared.numbers)
    if (number) number = 0;
  for (const Counter counter : kPauseCounters)
    if (now[counter]) first.paused[counter] = 0;
  return first;
}

}  // namespace atalaya::jvm
