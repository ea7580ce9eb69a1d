// SPDX-License-Identifier: Apache-2.0
// Computes the window in which each value of a series is valid.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "plugins/shared/store/query/types.h"

namespace atalaya::query {

// A value, and the window in which it is valid: (time - duration, time].
struct ValueWindow {
  int64_t time_ns = 0, duration_ns = 0;
  double value = 0;
};

// A sample is valid in its window. An instant has no window: it is valid since the previous instant, maximum five minutes,
// unless its series has longer steps. The first instant is valid for as long as the second one. Next to windows an instant has
// no length: it is the first reading of a collection, and the time before it was not collected.
class ValueWindows {
 public:
  static constexpr int64_t kLongest = store::kLongestHold;

  // Calls take(Held) for each value whose window is known now. `duration_ns` 0: an instant.
  template <class Callback>
  void add(int64_t time_ns, int64_t duration_ns, double value, Callback &&take) {
    const int64_t gap = time_ns - last_ns_;
    const bool is_first = !known_ || after_window_;
    known_ = true;
    last_ns_ = time_ns;
    after_window_ = duration_ns > 0;
    if (after_window_) {
      first_.reset();
      step_ns_ = duration_ns;
      return take(ValueWindow{time_ns, duration_ns, value});
    }
    const int64_t length = is_first ? 0 : length_of(gap);
    if (length <= 0) {
      if (!has_length()) first_ = ValueWindow{time_ns, 0, value};
      return;
    }
    if (first_) take(ValueWindow{first_->time_ns, length, first_->value});
    first_.reset();
    step_ns_ = length;
    take(ValueWindow{time_ns, length, value});
  }
  // Adds windows whose lengths are known from another source.
  void skip(int64_t last_ns, int64_t step_ns) {
    known_ = after_window_ = true;
    last_ns_ = std::max(last_ns_, last_ns);
    step_ns_ = step_ns;
    first_.reset();
  }
  // The length of the last window; 0: unknown.
  int64_t step_ns() const { return step_ns_; }
  int64_t last_ns() const { return last_ns_; }
  // An instant whose length is still unknown.
  const std::optional<ValueWindow> &pending_instant() const { return first_; }

 private:
  int64_t length_of(int64_t gap) {
    const bool is_regular = gap_ns_ > 0 && gap / 2 <= gap_ns_;
    gap_ns_ = gap;
    return gap <= kLongest || is_regular ? gap : kLongest;
  }

  bool has_length() const { return step_ns_ > 0; }

  bool known_ = false, after_window_ = false;
  int64_t last_ns_ = 0, gap_ns_ = 0, step_ns_ = 0;
  std::optional<ValueWindow> first_;
};

// Converts rolled points to windows: the first one, which may start before their step, and the rest. `plain` is the point in
// their place.
template <class Callback>
void for_each_held(const store::Summary &summary, const store::Points &plain, bool is_amount, Callback &&take) {
  const int64_t between = summary.last_ns - summary.first_ns, together = plain.durations_ns.front();
  const int64_t first = together > 0 ? together / summary.count : between / std::max<int64_t>(1, summary.count - 1);
  const auto ns = [](int64_t length) { return static_cast<double>(length); };
  take(ValueWindow{summary.first_ns, first, summary.first});
  if (between <= 0) return;
  const double all = plain.values.front() * (is_amount ? 1 : ns(together > 0 ? together : first * summary.count));
  const double rest = all - summary.first * (is_amount ? 1 : ns(first));
  take(ValueWindow{summary.last_ns, between, is_amount ? rest : rest / ns(between)});
}

}  // namespace atalaya::query
