// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <array>

#include "plugins/sources/proc/host_metric_values.h"

namespace atalaya::inventory {

inline constexpr std::array kTags = {proc::identity_tag("host")};

inline constexpr std::array kMetrics = {
    proc::gauge("inventory.facts", "1", -1, kTags, "the facts", "Facts that hold."),
    proc::delta("inventory.changes", "1", -1, kTags, "the facts",
                "Facts that ended or began by this look; one that changed does both. Absent with the first look of all."),
};

using Values = proc::MetricValues<kMetrics>;

}  // namespace atalaya::inventory
