// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/jvm/pause_time.h"

#include <algorithm>

namespace atalaya::jvm {
namespace {

constexpr int64_t kSecond_ns = 1'000'000'000;
constexpr int64_t kMaxTime_ns = int64_t{1} << 60;  // sums of some do not overflow

int64_t to_ns(int64_t ticks, int64_t frequency) {
  const int64_t seconds = ticks / frequency;
  if (seconds >= kMaxTime_ns / kSecond_ns) return kMaxTime_ns;
  const double rest = static_cast<double>(ticks % frequency) / static_cast<double>(frequency);
  return seconds * kSecond_ns + static_cast<int64_t>(rest * static_cast<double>(kSecond_ns));
}

int64_t running_ns(const JvmCounters &now, const CollectorCounters &collector, int64_t frequency, int64_t now_ns,
                   const JvmClock &clock) {
  return is_running(now, collector) ? clock.since(*now[collector.entry], frequency, now_ns) : 0;
}

// All collections of a JVM stop the same threads, so they share the window.
std::optional<int64_t> count(const std::optional<int64_t> &total_ns, const std::optional<int64_t> &before_ns, int64_t &left_ns) {
  if (!total_ns || !before_ns) return total_ns;
  const int64_t counted = std::clamp<int64_t>(*total_ns - *before_ns, 0, left_ns);
  left_ns -= counted;
  return *before_ns + counted;
}

}  // namespace

size_t PauseTime::place(Counter counter) {
  return static_cast<size_t>(std::find(kPauseCounters.begin(), kPauseCounters.end(), counter) - kPauseCounters.begin());
}

void JvmClock::update(const JvmCounters &shared, int64_t read_before_ns) {
  const int64_t frequency = shared[Counter::frequency].value_or(0);
  if (frequency <= 0) return;
  for (const Counter counter : {Counter::ticks, Counter::young_entry, Counter::young_exit, Counter::full_entry, Counter::full_exit,
                                Counter::concurrent_entry, Counter::concurrent_exit}) {
    if (!shared[counter] || *shared[counter] <= 0) continue;
    const int64_t start = read_before_ns - to_ns(*shared[counter], frequency);
    start_ns_ = std::min(start_ns_.value_or(start), start);
  }
}

int64_t JvmClock::since(int64_t tick, int64_t frequency, int64_t now_ns) const {
  return start_ns_ ? std::clamp<int64_t>(now_ns - *start_ns_ - to_ns(tick, frequency), 0, kMaxTime_ns) : 0;
}

PauseTime count_pauses(const JvmCounters &now, int64_t now_ns, const JvmClock &clock, const PauseTime *before, int64_t passed_ns) {
  PauseTime counted;
  const int64_t frequency = now[Counter::frequency].value_or(0);
  if (frequency <= 0) return counted;
  const auto count_one = [&](Counter counter, int64_t running, int64_t &left_ns) {
    std::optional<int64_t> total_ns;
    if (now[counter]) total_ns = to_ns(*now[counter], frequency) + running;
    counted[counter] = count(total_ns, before == nullptr ? std::nullopt : (*before)[counter], left_ns);
  };
  const int64_t window_ns = std::max<int64_t>(passed_ns, 0);
  int64_t longest = 0, collections_left = window_ns, safepoints_left = window_ns, sync_left = window_ns;
  for (const CollectorCounters &collector : kCollectors) {
    const int64_t running = running_ns(now, collector, frequency, now_ns, clock);
    longest = std::max(longest, running);
    count_one(collector.ticks, running, collections_left);
  }
  count_one(Counter::safepoint_ticks, longest, safepoints_left);  // a collection stops the threads within a safepoint
  count_one(Counter::safepoint_sync_ticks, 0, sync_left);
  return counted;
}

}  // namespace atalaya::jvm
