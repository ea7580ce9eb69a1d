// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <array>

#include "plugins/shared/io/samples/metric_values.h"

namespace atalaya::inventory {

inline constexpr MetricTag kFactTags[] = {metric::identity("host"), metric::identity("fact"), metric::identity("value")};

// The only field of inventory spans.
inline constexpr Metric kNumber =
    metric::gauge("fact.number", "1", metric::count, kFactTags, "the value", "Value of the fact, where it is a whole number");
inline constexpr std::array kOwnMetrics = {
    metric::gauge("inventory.facts", "1", metric::count, metric::host_tags, "the facts", "Current facts"),
    metric::delta("inventory.changes", "1", metric::count, metric::host_tags, "the facts",
                  "Facts that ended or began since the last collection; a changed fact counts twice. Absent in the first one."),
};

inline constexpr std::array kMetrics = {kNumber, kOwnMetrics[0], kOwnMetrics[1]};

using Values = io::MetricValues<kOwnMetrics>;

}  // namespace atalaya::inventory
