// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/model/job_tasks.h"

#include <algorithm>
#include <utility>

namespace atalaya::jobs {

JobTasks::JobTasks(const JobData &data, uint32_t job) : data_(data), job_(job), ends_(std::make_shared<MapPhaseEnds>(data)) {
  for (uint32_t i = 0; i < data.tasks.size(); ++i)
    if (has(i)) order_.push_back(i);
  sort();
}

JobTasks::JobTasks(const JobData &data, uint32_t job, std::shared_ptr<const MapPhaseEnds> ends, const std::vector<uint32_t> &of_job)
    : data_(data), job_(job), ends_(std::move(ends)) {
  for (const uint32_t i : of_job)
    if (has(i)) order_.push_back(i);
  sort();
}

void JobTasks::sort() {
  std::sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) { return std::pair(begin(a), a) < std::pair(begin(b), b); });
}

int64_t JobTasks::busy(const Phase &phase) const {
  if (phase.work.duration_ns <= 0) return 0;
  const int64_t end_ns = phase.work.end_ns();
  const int64_t worked = end_ns - ends_->begin(task(phase.task), phase.work.start_ns, end_ns);
  return std::min(worked, std::max<int64_t>(phase.busy_ns, 0));
}

JobStages::JobStages(const JobTasks &tasks) {
  for (const uint32_t i : tasks.order()) {
    const auto [stage, is_new] = numbers.try_emplace(tasks.task(i).stage, static_cast<uint32_t>(begins.size()));
    if (is_new) {
      begins.push_back(tasks.begin(i));
      ends.push_back(tasks.end(i));
    }
    ends[stage->second] = std::max(ends[stage->second], tasks.end(i));
  }
}

}  // namespace atalaya::jobs
