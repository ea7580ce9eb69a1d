// SPDX-License-Identifier: Apache-2.0
// Phases that decide the speed of a task: the second algorithm.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plugins/shared/analysis/jobs/findings/detect.h"
#include "plugins/shared/analysis/jobs/reasons/resource.h"

namespace atalaya::jobs {

struct PhaseRank {
  size_t group = 0;         // its index among the groups
  double correlation = 0;   // of its speed with that of the task; NaN if unknown
  double loading = 0;       // on the first principal component of the speeds of all phases and the task
  double share = 0;         // of the time of the tasks with a known speed in it; NaN without any
  bool bottleneck = false;  // among the top 20 % of the stage's phases
};

// Of each phase, by stage; the largest correlations first.
std::vector<PhaseRank> rank_phases(const JobData &data, const std::vector<Group> &groups);

// The resources that the phase, of this group's stage, waits for; none for whole tasks.
std::optional<Needs> phase_needs(const JobData &data, const std::vector<Group> &groups, const Group &group, uint32_t phase);

}  // namespace atalaya::jobs
