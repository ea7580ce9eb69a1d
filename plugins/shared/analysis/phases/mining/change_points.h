// SPDX-License-Identifier: Apache-2.0
// Changes of the level of series, for the comparison with phases: R (resources) and RS (resources and functions). Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "plugins/shared/analysis/phases/mining/trace.h"

namespace atalaya::phases {

// Series of equal lengths; an unknown value is not a number.
using SeriesSet = std::vector<std::vector<double>>;

// The first indices of new levels: the segmentation with the least squared distance from the means of its segments, each series in
// units of its noise, with a penalty for each segment (PELT). A constant series has none.
std::vector<size_t> change_points(const SeriesSet &series, size_t minimum);

// The shares of the most frequent functions of a trace as series.
SeriesSet function_series(const Trace &trace, size_t maximum);

}  // namespace atalaya::phases
