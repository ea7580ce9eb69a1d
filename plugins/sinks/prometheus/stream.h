// SPDX-License-Identifier: Apache-2.0
// Detects stale values. A value is valid until the next window of the same stream, which has either a newer value, or none because
// the entity has ended.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace atalaya::prometheus {

struct Moment {
  int64_t monotonic_ns = 0, real_ns = 0;
};

struct Staleness {
  int64_t windows = 3;                   // a value is stale after this number of windows without any sample of its stream
  int64_t max_age_ns = 300'000'000'000;  // maximum age of a value without a window
};

// Maximum time by which a sample may be ahead of this host's clock: the clocks of hosts differ.
constexpr int64_t kMaxClockAhead = 1'000'000'000;

// The time of a value. `length_ns` is the length of its window. For a value without a window it is 0 after the first value, then
// minus the time between the last two values.
struct Stamp {
  int64_t time_ns = 0, length_ns = 0;
  int64_t arrived_ns = 0;  // monotonic time of arrival; not used for a value with a window (see Stream)
};

// The windows of one host and one family of metrics ("proc" of proc.cpu.user), which usually come from one source. If pipelines
// with different intervals emit the same family, each length of window is tracked separately, so that a short window does not make
// the values of a long one stale. Plain data, copied into snapshots.
class Stream {
 public:
  // Records the arrival of a value with this time and window length. Returns false if a newer window has arrived before; a window
  // in the future does not count as newer, because the clock was set back.
  bool record_window(int64_t time_ns, int64_t length_ns, const Moment &now);
  bool is_fresh(const Stamp &stamp, const Staleness &staleness, const Moment &now) const;

 private:
  static constexpr size_t kLevels = 4;
  // The newest window of one length.
  struct Level {
    int64_t length_ns = 0, time_ns = 0, arrived_ns = 0;  // length 0: the entry is free
  };
  std::array<Level, kLevels> levels_{};
};

}  // namespace atalaya::prometheus
