// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/jvm/pauses.h"

#include <algorithm>

namespace atalaya::jvm {
namespace {

// The collections of one collector that ended between two readings; times in ticks.
struct Ended {
  int64_t count = 0, ticks = 0;
  int64_t longest_at_least = 0, longest_at_most = 0;
};

bool has_all(const JvmCounters &shared, const CollectorCounters &collector) {
  return shared[collector.count] && shared[collector.ticks] && shared[collector.entry] && shared[collector.exit];
}

// The JVM counts a collection when it begins, and its time when it ends.
int64_t ended(const JvmCounters &shared, const CollectorCounters &collector) {
  return *shared[collector.count] - (is_running(shared, collector) ? 1 : 0);
}

// The last collection has its times; the others of the window have only their sum.
std::optional<Ended> ended_between(const JvmCounters &before, const JvmCounters &now, const CollectorCounters &collector) {
  Ended all;
  all.count = ended(now, collector) - ended(before, collector);
  all.ticks = *now[collector.ticks] - *before[collector.ticks];
  if (all.count < 0 || all.ticks < 0) return std::nullopt;
  if (all.count == 0) return all;
  const bool is_last_known = !is_running(now, collector) && all.count > 1;
  const int64_t last = is_last_known ? std::min(*now[collector.exit] - *now[collector.entry], all.ticks) : 0;
  const int64_t others = all.count - (is_last_known ? 1 : 0);
  all.longest_at_least = std::max(last, (all.ticks - last) / others);
  all.longest_at_most = others == 1 ? all.longest_at_least : std::max(last, all.ticks - last);
  return all;
}

}  // namespace

std::optional<Pauses> pauses_between(const JvmCounters &before, const JvmCounters &now) {
  const int64_t frequency = now[Counter::frequency].value_or(0);
  if (frequency <= 0) return std::nullopt;
  const auto ms = [frequency](int64_t ticks) { return static_cast<double>(ticks) * 1000 / static_cast<double>(frequency); };
  Ended all;
  bool has_any = false;
  for (const CollectorCounters &collector : kCollectors) {
    if (!has_all(now, collector)) continue;
    if (!has_all(before, collector)) return std::nullopt;
    const auto one = ended_between(before, now, collector);
    if (!one) return std::nullopt;
    has_any = true;
    all.count += one->count;
    all.ticks += one->ticks;
    all.longest_at_least = std::max(all.longest_at_least, one->longest_at_least);
    all.longest_at_most = std::max(all.longest_at_most, one->longest_at_most);
  }
  if (!has_any) return std::nullopt;
  Pauses pauses;
  pauses.count = all.count;
  if (all.count == 0) return pauses;
  pauses.mean_ms = ms(all.ticks) / static_cast<double>(all.count);
  pauses.longest_ms = ms(all.longest_at_least);
  pauses.is_exact = all.longest_at_least == all.longest_at_most;
  return pauses;
}

}  // namespace atalaya::jvm
