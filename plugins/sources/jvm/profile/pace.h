// SPDX-License-Identifier: Apache-2.0
// Computes the pause between repetitions of a task, to limit its CPU time. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace atalaya::jvm {

class Pace {
 public:
  explicit Pace(uint64_t seed) : random_(seed | 1) {}

  // Returns a pause so that cost / (cost + pause) = `share` on average; minimum `min_ns`. It varies randomly by half, to avoid
  // lockstep with periodic programs.
  int64_t pause(int64_t cost_ns, double share, int64_t min_ns) {
    const double mean = static_cast<double>(std::max<int64_t>(cost_ns, 0)) * (1 - share) / share;
    const auto minimum = static_cast<double>(min_ns);
    const double target = std::clamp(mean, std::min(minimum, kMaxPause), kMaxPause);
    return static_cast<int64_t>(std::max(target * (0.5 + fraction()), minimum));
  }

 private:
  static constexpr double kMaxPause = 3600e9;

  double fraction() {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return static_cast<double>(random_ >> 11) * 0x1p-53;
  }

  uint64_t random_;
};

}  // namespace atalaya::jvm
