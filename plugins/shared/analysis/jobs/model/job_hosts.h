// SPDX-License-Identifier: Apache-2.0
// Hosts and times of jobs, to attribute measurements without a job to the jobs that ran there then.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/analysis/jobs/model/tasks.h"
#include "plugins/shared/store/store.h"

namespace atalaya::jobs {

// The time of a job, from the start of its first task to the end of the last one.
struct JobTime {
  uint32_t job = kNoJob;  // index of the job
  int64_t begin_ns = std::numeric_limits<int64_t>::max(), end_ns = 0;
};
using JobTimes = std::vector<JobTime>;

// The nodes of jobs, and the times of the jobs with tasks there.
class JobHosts {
 public:
  explicit JobHosts(const JobData &data);
  JobHosts(const JobHosts &) = delete;
  JobHosts &operator=(const JobHosts &) = delete;

  // The host names in the tasks.
  const std::set<std::string> &names() const { return names_; }
  // The times of the jobs on a host. nullptr if no job had tasks there, or if the name is ambiguous, possibly only among all
  // hosts.
  const JobTimes *times_of(std::string_view host) const;
  // Restricts the selection to data without a job of these hosts and times, and of hosts with the same first label.
  void select(store::Selection &selection) const;

 private:
  std::map<std::string, JobTimes, std::less<>> times_;
  std::set<std::string> names_;
  std::map<std::string_view, const JobTimes *> by_label_;  // times by first label of the host; nullptr: ambiguous
};

}  // namespace atalaya::jobs
