// SPDX-License-Identifier: Apache-2.0
// The share of a task's input that was read over the network, as its phases report it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "plugins/shared/analysis/jobs/model/tasks.h"

namespace atalaya::jobs {

// The sum of the remote bytes of two spans of a phase; known only if all spans with data report them.
int64_t remote_of_both(const Work &a, const Work &b);

// Computes the remote bytes of a task's input. Only phases that read the input, or from the network, count. Other phases read
// the task's own data from memory and disk: if only these report a source, the source of the input is unknown.
class DataSource {
 public:
  explicit DataSource(const JobData &data);

  // The remote bytes among those that a task's phases read; kUnknown unless all phases with bytes report them.
  struct Remote {
    int64_t remote = kUnknown, of = kUnknown;
  };
  Remote remote_of(const Phase *begin, const Phase *end);

 private:
  const std::vector<bool> &reads_of(const Phase *begin, const Phase *end);
  bool reads_remote(const Phase &phase) const;

  const JobData &data_;
  // job, stage and phase whose spans have bytes that came over the network
  std::set<std::tuple<uint32_t, uint32_t, uint32_t>> remote_;
  // By the names of a task's phases: which of them read input. A cache, because most tasks have the same phases.
  std::map<std::vector<uint32_t>, std::vector<bool>> reads_;
  std::vector<uint32_t> names_;
};

}  // namespace atalaya::jobs
