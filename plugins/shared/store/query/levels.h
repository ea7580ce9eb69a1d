// SPDX-License-Identifier: Apache-2.0
// The sum of several series at each time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>

#include "plugins/shared/store/query/budget.h"

namespace atalaya::query {

// Values are constant between the ends of windows: two windows are added for the time in which both are valid, whatever their
// lengths.
class Levels {
 public:
  // Adds a value that is valid in (begin, end].
  void add(int64_t begin_ns, int64_t end_ns, double value, Budget &budget) {
    cut(begin_ns, budget);
    cut(end_ns, budget);
    const auto end = levels_.upper_bound(end_ns);
    for (auto level = levels_.upper_bound(begin_ns); level != end; ++level) {
      level->second.value += value;
      level->second.is_known = true;
      budget.work(1);
    }
  }
  bool empty() const { return levels_.empty(); }
  size_t size() const { return levels_.size(); }
  // The minimum over the times at which a series has a value.
  double min() const {
    double found = std::numeric_limits<double>::infinity();
    for (const auto &[end, level] : levels_)
      if (level.is_known) found = std::min(found, level.value);
    return found;
  }
  double max() const {
    double found = -std::numeric_limits<double>::infinity();
    for (const auto &[end, level] : levels_)
      if (level.is_known) found = std::max(found, level.value);
    return found;
  }

 private:
  struct Level {
    double value = 0;
    bool is_known = false;
  };
  void cut(int64_t time_ns, Budget &budget) {
    const auto next = levels_.lower_bound(time_ns);
    if (next != levels_.end() && next->first == time_ns) return;
    budget.reserve(1);
    levels_.emplace_hint(next, time_ns, next == levels_.end() ? Level{} : next->second);
  }

  std::map<int64_t, Level> levels_;  // by the end of their interval
};

}  // namespace atalaya::query
