// SPDX-License-Identifier: Apache-2.0
// How many times longer the tasks of a node take than usual tasks of their stage, because of the node.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "plugins/shared/analysis/jobs/model/job_tasks.h"

namespace atalaya::jobs {

struct Slowness {
  std::map<std::pair<uint32_t, uint32_t>, double> of_stage;  // factor by host and stage; missing: 1
  std::map<uint32_t, double> maximum;                        // by host: the largest factor of its stages with enough tasks

  double factor(uint32_t host, uint32_t stage) const {
    const auto found = of_stage.find({host, stage});
    return found == of_stage.end() ? 1 : found->second;
  }
};

// `times`: durations of the tasks of the job, by index among all tasks.
Slowness slowness_of(const JobTasks &tasks, const JobStages &stages, const std::vector<int64_t> &times);

}  // namespace atalaya::jobs
