// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/prometheus/stream.h"

#include <algorithm>

namespace atalaya::prometheus {
namespace {

// The maximum time without a window. It has a minimum, because short windows arrive late when the host is busy.
constexpr int64_t kMinSilence = 2'000'000'000;

int64_t max_silence(int64_t interval_ns, const Staleness &staleness) {
  const int64_t maximum = staleness.max_age_ns / staleness.windows;
  return interval_ns >= maximum ? staleness.max_age_ns : std::max(kMinSilence, interval_ns * staleness.windows);
}

}  // namespace

bool Stream::record_window(int64_t time_ns, int64_t length_ns, const Moment &now) {
  Level *level = &levels_[0];
  for (Level &other : levels_) {
    if (other.time_ns > time_ns && other.time_ns > now.real_ns + kMaxClockAhead) other = {};
    if (other.length_ns == length_ns) {
      level = &other;
      break;
    }
    if (other.arrived_ns < level->arrived_ns) level = &other;
  }
  if (level->length_ns == length_ns && level->time_ns > time_ns) return false;
  *level = {length_ns, time_ns, now.monotonic_ns};
  return true;
}

bool Stream::is_fresh(const Stamp &stamp, const Staleness &staleness, const Moment &now) const {
  const int64_t length = stamp.length_ns;
  if (length < 0) return now.monotonic_ns - stamp.arrived_ns <= max_silence(-length, staleness);
  int64_t arrived = stamp.arrived_ns;
  for (const Level &level : levels_) {
    if (level.length_ns == 0) continue;
    if (level.length_ns >= length && level.time_ns > stamp.time_ns) return false;
    if (level.length_ns == length) arrived = level.arrived_ns;
  }
  return now.monotonic_ns - arrived <= (length > 0 ? max_silence(length, staleness) : staleness.max_age_ns);
}

}  // namespace atalaya::prometheus
