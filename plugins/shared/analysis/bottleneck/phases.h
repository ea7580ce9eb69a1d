// SPDX-License-Identifier: Apache-2.0
// Which phases decide how fast a task is: the second algorithm.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plugins/shared/analysis/bottleneck/detect.h"
#include "plugins/shared/analysis/bottleneck/resource.h"

namespace atalaya::bottleneck {

struct PhaseRank {
  size_t group = 0;         // its place among the groups
  double correlation = 0;   // of its speed with the task's over the tasks; NaN where that is not known
  double loading = 0;       // on the first principal component of the speeds of all phases and the task
  double share = 0;         // of the time of the tasks whose speed in it is known; NaN where there are none
  bool bottleneck = false;  // among the top 20 % of the stage's phases
};

// Of each phase, by stage; the largest correlations first.
std::vector<PhaseRank> rank_phases(const JobData &data, const std::vector<Group> &groups);

// What the phase, one of this group's stage, waits for; nothing of tasks as a whole.
std::optional<Needs> needs_of_phase(const JobData &data, const std::vector<Group> &groups, const Group &group, uint32_t phase);

}  // namespace atalaya::bottleneck
