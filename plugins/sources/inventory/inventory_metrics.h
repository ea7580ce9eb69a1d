// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <array>

#include "plugins/shared/samples/metric_values.h"

namespace atalaya::inventory {

inline constexpr std::array kTags = {proc::identity_tag("host")};
inline constexpr std::array kFactTags = {proc::identity_tag("host"), proc::identity_tag("fact"), proc::identity_tag("value")};

// Beside the spans, which have no other.
inline constexpr Metric kNumber =
    proc::gauge("fact.number", "1", -1, kFactTags, "the value", "Of a span: its value, where that is a whole number.");
inline constexpr std::array kOwnMetrics = {
    proc::gauge("inventory.facts", "1", -1, kTags, "the facts", "Facts that hold."),
    proc::delta("inventory.changes", "1", -1, kTags, "the facts",
                "Facts that ended or began by this look; one that changed does both. Absent with the first look of all."),
};

inline constexpr std::array kMetrics = {kNumber, kOwnMetrics[0], kOwnMetrics[1]};

using Values = proc::MetricValues<kOwnMetrics>;

}  // namespace atalaya::inventory
