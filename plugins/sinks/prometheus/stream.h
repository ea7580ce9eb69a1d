// SPDX-License-Identifier: Apache-2.0
// Which values are still true. A value was true in its window; the next window of the same kind has either a newer one, or none,
// because what it told of is no more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace atalaya::prometheus {

struct Moment {
  int64_t monotonic_ns = 0, real_ns = 0;
};

struct Staleness {
  int64_t windows = 3;  // without word
  int64_t max_age_ns = 300'000'000'000;
};

// By how much a time may lie ahead of the clock: hosts differ.
constexpr int64_t kAhead = 1'000'000'000;

// The time of a value. Window length: > 0. A value without a window: 0 when it came once, else minus the time between its last two.
struct Stamp {
  int64_t time_ns = 0, length_ns = 0;
  int64_t arrived_ns = 0;  // monotonic; of a window, the stream knows it
};

// The windows of one host and one family of metrics ("proc" of proc.cpu.user), which come from one source as a rule. Where
// pipelines of different intervals give the same family, longer windows are not outdated by shorter ones. Plain data, copied into
// snapshots.
class Stream {
 public:
  // A value of that time and window length arrives. False when a newer window has come already. Times that lie ahead of the clock
  // are no obstacle: the clock was set back.
  bool note(int64_t time_ns, int64_t length_ns, const Moment &now);
  bool shows(const Stamp &stamp, const Staleness &staleness, const Moment &now) const;

 private:
  static constexpr size_t kLevels = 4;
  // The newest window of a length.
  struct Level {
    int64_t length_ns = 0, time_ns = 0, arrived_ns = 0;  // length 0: free
  };
  std::array<Level, kLevels> levels_{};
};

}  // namespace atalaya::prometheus
