// SPDX-License-Identifier: Apache-2.0
// The cost of user-defined code regions in five classes; the two worst are the critical code regions. The classes compare regions
// of one job; a region with little cost relative to the tasks, or without others to compare with, is in neither of these two.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "plugins/shared/analysis/jobs/model/tasks.h"
#include "plugins/shared/analysis/jobs/reasons/cluster.h"

namespace atalaya::jobs {

enum class Severity : uint8_t { very_severe, severe, moderate, slight, negligible };
std::string_view severity_text(Severity severity);

struct RegionCost {
  uint32_t job = kNoJob;  // index of the job; kNoJob: without a job
  uint32_t name = 0;
  size_t count = 0;  // number of runs
  double seconds = 0;
  double share = 0;                     // share of the cost of all regions of the job
  double of_tasks = 0;                  // cost relative to the time of the tasks on the nodes of the region; NaN without tasks
  double bytes = 0, bytes_seconds = 0;  // bytes_seconds: time of the runs with known bytes
  bool has_bytes = false;
  Severity severity = Severity::negligible;
  bool critical = false;
};

// Returns the regions, the largest cost first.
std::vector<RegionCost> grade_regions(const JobData &data, Clustering clustering);

}  // namespace atalaya::jobs
