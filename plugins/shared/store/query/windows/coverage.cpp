// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/query/windows/coverage.h"

#include <algorithm>
#include <iterator>

namespace atalaya::query {

void Coverage::add(int64_t begin_ns, int64_t end_ns) {
  if (begin_ns >= end_ns) return;
  auto next = parts_.upper_bound(begin_ns);
  if (next != parts_.begin() && std::prev(next)->second >= begin_ns) {
    --next;
    begin_ns = next->first;
  }
  while (next != parts_.end() && next->first <= end_ns) {
    end_ns = std::max(end_ns, next->second);
    next = parts_.erase(next);
  }
  parts_.emplace_hint(next, begin_ns, end_ns);
}

void Coverage::add(const Coverage &other) {
  for (const auto &[begin, end] : other.parts_) add(begin, end);
}

int64_t Coverage::length_ns() const {
  int64_t sum = 0;
  for (const auto &[begin, end] : parts_) sum += end - begin;
  return sum;
}

}  // namespace atalaya::query
