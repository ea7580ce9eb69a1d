// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/chunks/chunk.h"

#include <algorithm>
#include <type_traits>

namespace atalaya::store {

void Column::reserve(size_t points) {
  times_ns.reserve(points);
  durations_ns.reserve(points);
  values.reserve(points);
}

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

void TimeInterval::add(const Column &column) {
  if (column.size() == 0) return;
  first_ns = std::min(first_ns, column.times_ns.front());
  last_ns = std::max(last_ns, column.times_ns.back());
}

Column merged(const Column &old, const Column &fresh) {
  Column all;
  all.metric = old.metric;
  size_t o = 0, f = 0;
  const auto take = [&](const Column &from, size_t &i) {
    all.add(from.times_ns[i], from.durations_ns[i], from.values[i]);
    ++i;
  };
  while (o < old.size() || f < fresh.size()) {
    if (f == fresh.size() || (o < old.size() && old.times_ns[o] <= fresh.times_ns[f])) {
      take(old, o);  // and the fresh one of the same time replaces it
    } else {
      take(fresh, f);
    }
  }
  return all;
}

Column part_of(const Column &column, size_t begin, size_t end) {
  const auto cut = [&](const auto &all) {
    return std::decay_t<decltype(all)>(all.begin() + static_cast<ptrdiff_t>(begin), all.begin() + static_cast<ptrdiff_t>(end));
  };
  return {column.metric, cut(column.times_ns), cut(column.durations_ns), cut(column.values)};
}

}  // namespace atalaya::store
