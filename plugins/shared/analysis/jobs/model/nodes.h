// SPDX-License-Identifier: Apache-2.0
// Nodes by the number of their slow tasks: the second half of the first algorithm.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plugins/shared/analysis/jobs/findings/detect.h"

namespace atalaya::jobs {

// A node in a job.
struct Node {
  uint32_t job = 0, host = 0;
  size_t tasks = 0, lowest = 0, lower = 0;  // whole tasks, all stages
  double bytes = 0, remote = 0;             // read by tasks, if both are known, in stages without a shuffle
  bool top = false;                         // among the 20 % with the most tasks in the lowest and lower grade
  bool bottleneck = false;                  // a finding names it
  std::optional<double> remote_share() const { return bytes > 0 ? std::optional(remote / bytes) : std::nullopt; }
};

// By job, the most slow tasks first.
std::vector<Node> rank_nodes(const JobData &data, const std::vector<Group> &groups);

}  // namespace atalaya::jobs
