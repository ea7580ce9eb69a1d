// SPDX-License-Identifier: Apache-2.0
// Whether reads over the network slow tasks: the tasks that read most of their input over it, compared with those that do not.
#pragma once

#include <optional>
#include <vector>

#include "plugins/shared/analysis/jobs/findings/detect.h"

namespace atalaya::jobs {

struct Finding;

// The remote tasks of a node, or of some tasks, compared with all others of the group.
struct RemoteReads {
  double own_share = 0, other_share = 0;  // shares of remote bytes
  size_t own = 0, own_remote = 0;         // numbers of tasks
  double chance = 1;                      // probability of this number of remote tasks by chance
  // How much slower remote tasks are than local ones of the same nodes and waves; absent: there are none to compare.
  std::optional<double> slower;
  double chance_slower = 1;
};

// Compares the tasks of the group for which `is_own` is true with the others. Nothing if no task reports the source of its
// data.
std::optional<RemoteReads> remote_reads(const JobData &data, const Group &group, const std::vector<bool> &is_own);

// Finds stages whose remote tasks are slow on all nodes, unless another finding explains the stage in the same way.
std::vector<Finding> find_remote(const JobData &data, const std::vector<Group> &groups, const std::vector<Finding> &known,
                                 const DetectOptions &options);

}  // namespace atalaya::jobs
