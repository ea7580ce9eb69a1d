// SPDX-License-Identifier: Apache-2.0
// What of its data a task got over the network, as its phases tell it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "plugins/shared/analysis/bottleneck/tasks.h"

namespace atalaya::bottleneck {

// Where what one phase worked through came from is known only if it is of all its spans that had any.
int64_t remote_of_both(const Work &a, const Work &b);

// Only phases that read the task's input, or from the network, can tell. What others took from memory and disk was the task's own
// by then: a task of which only these have a source read from nobody knows where.
class DataSource {
 public:
  explicit DataSource(const JobData &data);

  // What of the bytes that a task's phases read was remote, and of how many; kUnknown unless all that had bytes tell it.
  struct Remote {
    int64_t remote = kUnknown, of = kUnknown;
  };
  Remote remote_of(const Phase *begin, const Phase *end);

 private:
  const std::vector<bool> &reads_of(const Phase *begin, const Phase *end);
  bool reads_remote(const Phase &phase) const;

  const JobData &data_;
  std::set<std::tuple<uint32_t, uint32_t, uint32_t>> remote_;  // job, stage, phase: of which bytes came over the network
  // Which of a task's phases read, by their names. Tasks mostly have the same ones.
  std::map<std::vector<uint32_t>, std::vector<bool>> reads_;
  std::vector<uint32_t> names_;
};

}  // namespace atalaya::bottleneck
