// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/chunks/chunk.h"

namespace atalaya::store {

void Column::clear() {
  times_ns.clear();
  durations_ns.clear();
  values.clear();
}

void Column::add(int64_t time_ns, int64_t duration_ns, const Number &value) {
  if (!times_ns.empty() && times_ns.back() == time_ns) {
    durations_ns.back() = duration_ns;
    values.back() = value;
    return;
  }
  times_ns.push_back(time_ns);
  durations_ns.push_back(duration_ns);
  values.push_back(value);
}

}  // namespace atalaya::store
