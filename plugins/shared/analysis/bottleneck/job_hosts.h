// SPDX-License-Identifier: Apache-2.0
// Where and when jobs ran: what is measured there and then, and says no job, is taken for theirs.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/analysis/bottleneck/tasks.h"
#include "plugins/shared/store/store.h"

namespace atalaya::bottleneck {

// When a job ran, from the begin of its first task to the end of the last one.
struct JobTime {
  uint32_t job = kNoJob;  // its place
  int64_t begin_ns = std::numeric_limits<int64_t>::max(), end_ns = 0;
};
using JobTimes = std::vector<JobTime>;

// The nodes of jobs, and when those jobs ran that had tasks there.
class JobHosts {
 public:
  explicit JobHosts(const JobData &data);
  JobHosts(const JobHosts &) = delete;
  JobHosts &operator=(const JobHosts &) = delete;

  // As the tasks have them.
  const std::set<std::string> &names() const { return names_; }
  // nullptr where no job had tasks, or it is not clear which host this is. That may turn out when all hosts are known, too.
  const JobTimes *times_of(std::string_view host) const;
  // What says no job, of these hosts and this time, and of hosts with the same first label.
  void select(store::Selection &selection) const;

 private:
  std::map<std::string, JobTimes, std::less<>> times_;
  std::set<std::string> names_;
  std::map<std::string_view, const JobTimes *> by_label_;  // nullptr: several hosts have it
};

}  // namespace atalaya::bottleneck
