// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::query {

// Merges series into one, with a point at every time at which any of them has one. From its first to its last point, a series
// has the value of its point, of the window around the time, or the aggregator's substitute: a value on the line between its
// neighbours, 0, or none. Ignores points that are NaN. There are no results after `until_ns`.
std::vector<Point> merged(std::span<const std::vector<Point>> series, const Aggregator &aggregator, Budget &budget,
                          int64_t until_ns = std::numeric_limits<int64_t>::max());

}  // namespace atalaya::query
