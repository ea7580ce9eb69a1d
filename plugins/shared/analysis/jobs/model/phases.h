// SPDX-License-Identifier: Apache-2.0
// Ranks the phases that decide the speed of a task: docs/decisions/jobs-and-bottlenecks.md.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plugins/shared/analysis/jobs/findings/detect.h"
#include "plugins/shared/analysis/jobs/reasons/resource.h"

namespace atalaya::jobs {

struct PhaseRank {
  size_t group = 0;         // index of the group
  double correlation = 0;   // correlation of the speeds of the phase and of its task; NaN if unknown
  double loading = 0;       // loading on the first principal component of the speeds of all phases and the task
  double share = 0;         // share of the phase in the time of the tasks with a known speed in it; NaN if there are none
  bool bottleneck = false;  // among the top 20 % of the stage's phases
};

// Returns the rank of each phase by stage, the largest correlations first.
std::vector<PhaseRank> rank_phases(const JobData &data, const std::vector<Group> &groups);

// Returns the resources that the phase of this group waits for; nothing for whole tasks.
std::optional<Needs> phase_needs(const JobData &data, const std::vector<Group> &groups, const Group &group, uint32_t phase);

}  // namespace atalaya::jobs
