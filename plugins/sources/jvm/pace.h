// SPDX-License-Identifier: Apache-2.0
// How often something may be done that costs CPU time. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace atalaya::jvm {

class Pace {
 public:
  explicit Pace(uint64_t seed) : random_(seed | 1) {}

  // The pause behind what has cost so much, so that cost / (cost + pause) is `share`, and `least` at least. It varies by half,
  // which evens out but at `least`: programs do things regularly too.
  int64_t pause(int64_t cost_ns, double share, int64_t least_ns) {
    const double even = static_cast<double>(std::max<int64_t>(cost_ns, 0)) * (1 - share) / share;
    const auto least = static_cast<double>(least_ns);
    const double wanted = std::clamp(even, std::min(least, kLongest), kLongest);
    return static_cast<int64_t>(std::max(wanted * (0.5 + fraction()), least));
  }

 private:
  static constexpr double kLongest = 3600e9;

  double fraction() {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return static_cast<double>(random_ >> 11) * 0x1p-53;
  }

  uint64_t random_;
};

}  // namespace atalaya::jvm
