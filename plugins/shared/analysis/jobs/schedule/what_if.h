// SPDX-License-Identifier: Apache-2.0
// Predicts the length of a job after a change, by replaying its recorded tasks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plugins/shared/analysis/jobs/model/tasks.h"

namespace atalaya::jobs {

struct Prediction {
  std::string change;  // "node n3 as fast as the others"
  double seconds = 0;  // length of the job
};

struct WhatIf {
  double observed = 0, replayed = 0;  // seconds: the replay of the recorded tasks without a change
  bool is_rough = false;              // the replay differs so much from the recorded run that its predictions are rough
  bool is_pinned = false;             // the replay in which each task stays on its executor is nearer to the recorded run
  std::vector<Prediction> predictions;
};

// Nothing in the same cases as critical_path. `seconds`: length of the job.
std::optional<WhatIf> what_if(const JobData &data, uint32_t job, double seconds);

}  // namespace atalaya::jobs
