// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::query {

// One series of several: at every time that any of them has a point. A series counts from its first to its last point; in between
// it has its value, that of the window around the time, or the aggregator's substitute for a missing one: a value on the line
// between its neighbours, 0, or nothing. Points that are not a number count as nothing. There are no results after `until_ns`.
std::vector<Point> merged(std::span<const std::vector<Point>> series, const Aggregator &aggregator, Budget &budget,
                          int64_t until_ns = std::numeric_limits<int64_t>::max());

}  // namespace atalaya::query
