// SPDX-License-Identifier: Apache-2.0
// What the code regions that users named cost, in five classes; the two worst are the critical code regions. The classes tell
// regions of a job from each other; what hardly counts beside the tasks, or has nothing to be compared with, is in none of these
// two.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "plugins/shared/analysis/bottleneck/cluster.h"
#include "plugins/shared/analysis/bottleneck/tasks.h"

namespace atalaya::bottleneck {

enum class Severity : uint8_t { very_severe, severe, moderate, slight, negligible };
std::string_view severity_text(Severity severity);

struct RegionCost {
  uint32_t job = kNoJob;  // its place; kNoJob: of those that say none
  uint32_t name = 0;
  size_t count = 0;  // runs
  double seconds = 0;
  double share = 0;                     // of what all regions of the job cost
  double of_tasks = 0;                  // the same beside the time of the tasks on their nodes; NaN where there are none
  double bytes = 0, bytes_seconds = 0;  // bytes_seconds: of the runs that tell bytes
  bool has_bytes = false;
  Severity severity = Severity::negligible;
  bool critical = false;
};

// The dearest first.
std::vector<RegionCost> grade_regions(const JobData &data, Clustering clustering);

}  // namespace atalaya::bottleneck
