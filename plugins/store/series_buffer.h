// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/store/fields.h"
#include "plugins/store/store.h"

namespace atalaya::store {

// Points of one series in ascending time, with their exact values.
struct SeriesBuffer {
  std::vector<int64_t> times_ns, durations_ns;
  std::vector<Number> values;

  size_t size() const { return times_ns.size(); }
  // A time that is the last one replaces it.
  void add(int64_t time_ns, int64_t duration_ns, const Number &value) {
    if (!times_ns.empty() && times_ns.back() == time_ns) {
      durations_ns.back() = duration_ns;
      values.back() = value;
      return;
    }
    times_ns.push_back(time_ns);
    durations_ns.push_back(duration_ns);
    values.push_back(value);
  }
  void clear() {
    times_ns.clear();
    durations_ns.clear();
    values.clear();
  }
};

}  // namespace atalaya::store
