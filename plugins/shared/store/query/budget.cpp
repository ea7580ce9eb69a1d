// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/query/budget.h"

#include <algorithm>
#include <string>

#include "core/base/now.h"
#include "core/base/text/units.h"

namespace atalaya::query {

Budget::Budget(const Limits &limits) : limits_(limits), deadline_(core::monotonic() + limits.time_ns) {}

void Budget::check_time() const {
  if (limits_.cancelled != nullptr && *limits_.cancelled) throw Cancelled();
  if (core::monotonic() > deadline_)
    throw TooMuch("the query took longer than " +
                  core::format_duration(limits_.request_ns > 0 ? limits_.request_ns : limits_.time_ns) + kAskForLess);
}

Budget Budget::part(size_t points) const {
  Limits limits = limits_;
  limits.points = points;
  return Budget(limits, deadline_);
}

Budget Budget::half() const {
  const int64_t remaining_ns = std::max<int64_t>(deadline_ - core::monotonic(), 0);
  Limits limits = limits_;
  limits.points = (limits_.points - std::min(reserved_, limits_.points)) / 2;
  limits.time_ns = remaining_ns / 2;
  return Budget(limits);
}

void Budget::too_many() const {
  throw TooManyPoints("the answer would hold more than " + std::to_string(limits_.points) + " points" + kAskForLess);
}

}  // namespace atalaya::query
