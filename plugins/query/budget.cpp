// SPDX-License-Identifier: Apache-2.0
#include "plugins/query/budget.h"

#include <string>

#include "core/util/now.h"
#include "core/util/units.h"

namespace atalaya::query {

Budget::Budget(const Limits &limits) : limits_(limits), deadline_(core::monotonic() + limits.time_ns) {}

void Budget::check_time() const {
  if (core::monotonic() > deadline_)
    throw TooMuch("the query took longer than " + core::format_duration(limits_.time_ns) + kAskForLess);
}

void Budget::too_many() const {
  throw TooMuch("the answer would hold more than " + std::to_string(limits_.points) + " points" + kAskForLess);
}

}  // namespace atalaya::query
