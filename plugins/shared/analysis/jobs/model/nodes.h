// SPDX-License-Identifier: Apache-2.0
// Ranks nodes by the number of their slow tasks: docs/decisions/jobs-and-bottlenecks.md.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plugins/shared/analysis/jobs/findings/detect.h"

namespace atalaya::jobs {

// The tasks of a job on one node.
struct Node {
  uint32_t job = 0, host = 0;
  // numbers of tasks in all stages: all, those in the lowest grade, those in the grade above
  size_t tasks = 0, lowest = 0, lower = 0;
  // bytes that tasks in stages without a shuffle read: all, and over the network; only tasks that report both
  double bytes = 0, remote = 0;
  bool top = false;         // among the 20 % with the most tasks in the lowest and lower grade
  bool bottleneck = false;  // a finding names it
  std::optional<double> remote_share() const { return bytes > 0 ? std::optional(remote / bytes) : std::nullopt; }
};

// Returns the nodes by job, those with the most slow tasks first.
std::vector<Node> rank_nodes(const JobData &data, const std::vector<Group> &groups);

}  // namespace atalaya::jobs
