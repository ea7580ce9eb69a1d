// SPDX-License-Identifier: Apache-2.0
// The share of a task's input that came over the network, as reported by its phases.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "plugins/shared/analysis/jobs/model/tasks.h"

namespace atalaya::jobs {

// The source of a phase's data is known only if all its spans with data report it.
int64_t remote_of_both(const Work &a, const Work &b);

// Only phases that read the task's input, or from the network, count. Other phases read the task's own data from memory and disk:
// if only these report a source, that of the task is unknown.
class DataSource {
 public:
  explicit DataSource(const JobData &data);

  // The remote bytes of those that a task's phases read; kUnknown unless all phases with bytes report it.
  struct Remote {
    int64_t remote = kUnknown, of = kUnknown;
  };
  Remote remote_of(const Phase *begin, const Phase *end);

 private:
  const std::vector<bool> &reads_of(const Phase *begin, const Phase *end);
  bool reads_remote(const Phase &phase) const;

  const JobData &data_;
  std::set<std::tuple<uint32_t, uint32_t, uint32_t>> remote_;  // job, stage, phase: with bytes that came over the network
  // The phases of a task that read, by their names. Cached: most tasks have the same phases.
  std::map<std::vector<uint32_t>, std::vector<bool>> reads_;
  std::vector<uint32_t> names_;
};

}  // namespace atalaya::jobs
