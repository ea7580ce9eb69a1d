// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/stack_parts.h"

#include <algorithm>
#include <vector>

namespace atalaya::store {
namespace {

// Parts are multiples of this unit, so that their sums have no rounding error: below 2^53 units a double is exact.
int64_t units_of(int64_t count) {
  return count < (int64_t{1} << 32) ? int64_t{1} << 20 : 1;
}

// The units in the first `inside` of `all` ns. Its rounding depends on this end only, so that neighbouring parts sum exactly.
int64_t units_until(int64_t count, int64_t inside, int64_t all) {
  const double share = static_cast<double>(inside) / static_cast<double>(all);
  return static_cast<int64_t>(static_cast<double>(count * units_of(count)) * share);
}

Field part_of(const Field &whole, int64_t skipped, int64_t inside, int64_t all) {
  Field part = whole;
  part.is_count = false;
  part.count = 0;
  if (whole.is_count)
    part.value = static_cast<double>(units_until(whole.count, skipped + inside, all) - units_until(whole.count, skipped, all)) /
                 static_cast<double>(units_of(whole.count));
  else
    part.value = whole.value * static_cast<double>(inside) / static_cast<double>(all);
  return part;
}

}  // namespace

Range window_ends(const Range &range) {
  const int64_t maximum = std::numeric_limits<int64_t>::max() - kLongestWindow;
  return {range.from_ns, std::min(range.to_ns, maximum) + kLongestWindow};
}

void visit_part(const Stack &whole, const Range &range, const std::function<void(const Stack &)> &visitor) {
  const int64_t begin = whole.time_ns - whole.duration_ns;
  const int64_t from = std::max(begin, range.from_ns), to = std::min(whole.time_ns, range.to_ns);
  if (whole.duration_ns <= 0 || (from == begin && to == whole.time_ns)) return visitor(whole);
  if (to <= from) return;
  std::vector<Field> fields;
  fields.reserve(whole.fields.size());
  for (const Field &field : whole.fields) fields.push_back(part_of(field, from - begin, to - from, whole.duration_ns));
  visitor({to, to - from, whole.entity, whole.number, whole.tags, whole.folded, fields});
}

void Store::stacks(const Selection &selection, const std::function<void(const Stack &)> &visitor) {
  whole_stacks(selection, [&](const Stack &whole) { visit_part(whole, selection.range, visitor); });
}

}  // namespace atalaya::store
