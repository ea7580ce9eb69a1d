// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "plugins/query/types.h"

namespace atalaya::query {

// Changes per second between the points of one series, reading by reading: before downsampling, because an average of a counter
// across a reset is no number of anything.
class RateOf {
 public:
  explicit RateOf(const Rate &rate) : rate_(rate) {}

  // Nothing for the first point, and across a reset.
  std::optional<double> add(int64_t time_ns, double value) {
    const bool first = !known_;
    const double before = value_;
    const double seconds = static_cast<double>(time_ns - time_ns_) / 1e9;
    known_ = true;
    time_ns_ = time_ns;
    value_ = value;
    if (first || seconds <= 0) return std::nullopt;
    double change = value - before;
    if (rate_.counter && change < 0) {
      if (rate_.largest <= 0) return std::nullopt;
      change = rate_.largest - before + value;
    }
    const double rate = change / seconds;
    if (rate_.counter && rate_.reset_value > 0 && rate > rate_.reset_value) return std::nullopt;
    return rate;
  }

 private:
  Rate rate_;
  bool known_ = false;
  int64_t time_ns_ = 0;
  double value_ = 0;
};

}  // namespace atalaya::query
