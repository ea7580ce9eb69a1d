// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "plugins/shared/store/query/types.h"

namespace atalaya::query {

// Computes changes per second between the points of one series, reading by reading: before downsampling, because the average of
// a counter across a reset is meaningless.
class RateOf {
 public:
  explicit RateOf(const Rate &rate) : rate_(rate) {}

  // Adds a point and returns the rate. Nothing for the first point, and across a reset. The difference of counts is exact, also
  // if doubles cannot represent them.
  std::optional<double> add(int64_t time_ns, double value, std::optional<int64_t> count = std::nullopt) {
    const bool first = !known_;
    const double before = value_;
    const std::optional<int64_t> count_before = count_;
    step_ns_ = time_ns - time_ns_;
    const double seconds = static_cast<double>(step_ns_) / 1e9;
    known_ = true;
    time_ns_ = time_ns;
    value_ = value;
    count_ = count;
    if (first || seconds <= 0) return std::nullopt;
    double change = value - before;
    if (int64_t exact = 0; count && count_before && !__builtin_sub_overflow(*count, *count_before, &exact))
      change = static_cast<double>(exact);
    const bool decreased = change < 0;
    if (rate_.counter && decreased) {
      if (rate_.largest <= 0) return std::nullopt;
      change = rate_.largest - before + value;
    }
    const double rate = change / seconds;
    if (rate_.counter && decreased && rate_.reset_value > 0 && rate > rate_.reset_value) return std::nullopt;
    return rate;
  }

  // Adds points that were rolled up: returns the change to the last one if no value decreased. A wrapped counter leaves a gap,
  // because the number of wraps is unknown.
  std::optional<double> add_rolled(const store::Summary &summary) {
    const bool decreased = known_ && (summary.min < value_ || summary.max > summary.last);
    if (rate_.counter && decreased) known_ = false;
    return add(summary.last_ns, summary.last);
  }
  // The interval of the last rate.
  int64_t step_ns() const { return step_ns_; }

 private:
  Rate rate_;
  bool known_ = false;
  int64_t time_ns_ = 0, step_ns_ = 0;
  double value_ = 0;
  std::optional<int64_t> count_;
};

}  // namespace atalaya::query
