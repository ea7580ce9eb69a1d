// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/alerts/gaps.h"

#include <algorithm>

namespace atalaya::alerts {

void Gaps::add(const Window &window) {
  const int64_t begin_ns = window.time_ns - window.duration_ns;
  // Windows of arrivals have no length: between two of them the pipeline waited.
  const bool has_gap = std::exchange(is_restored_, false) || window.interval_ns > 0;
  if (has_gap && until_ns_ != 0 && begin_ns > until_ns_) gaps_.emplace_back(until_ns_, begin_ns);
  if (gaps_.size() > kMax) gaps_.erase(gaps_.begin());
  // Also where the clock was set back: earlier times come again.
  until_ns_ = window.time_ns;
}

int64_t Gaps::collected(int64_t from_ns, int64_t to_ns) const {
  int64_t length_ns = to_ns - from_ns;
  for (const auto &[begin_ns, end_ns] : gaps_)
    length_ns -= std::max<int64_t>(std::min(end_ns, to_ns) - std::max(begin_ns, from_ns), 0);
  return length_ns;
}

int64_t Gaps::before(int64_t to_ns, int64_t length_ns) const {
  int64_t from_ns = to_ns - length_ns;
  for (auto gap = gaps_.rbegin(); gap != gaps_.rend(); ++gap)
    if (gap->second > from_ns && gap->first < to_ns) from_ns -= std::min(gap->second, to_ns) - gap->first;
  return from_ns;
}

}  // namespace atalaya::alerts
