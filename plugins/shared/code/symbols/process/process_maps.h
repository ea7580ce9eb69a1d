// SPDX-License-Identifier: Apache-2.0
// The executable mappings of one process, current and previous.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/shared/code/symbols/process/memory_map.h"
#include "plugins/shared/code/symbols/process/process_mark.h"

namespace atalaya::symbols {

class ProcessMaps {
 public:
  explicit ProcessMaps(int32_t pid) : pid_(pid) {}

  // Reads the mappings; false if the process no longer has this mark. The previous mappings remain, for addresses that were
  // sampled before.
  bool refresh(const ProcessMark &mark);

  // Uses the mappings of an earlier object as the previous mappings.
  void follow(const ProcessMaps &earlier) {
    if (before_.empty()) before_ = earlier.mappings_;
  }

  // The mapping of an address; null if it is not mapped. Valid until the next refresh.
  const Mapping *at(uint64_t address) const;
  const std::vector<Mapping> &mappings() const { return mappings_; }
  int32_t pid() const { return pid_; }
  size_t bytes() const;

 private:
  int32_t pid_;
  int64_t stamped_ns_ = 0;  // the last reading that opened all files
  size_t hash_ = 0;         // hash of the text of the last reading: equal texts have equal mappings and files
  std::vector<Mapping> mappings_, before_;
};

}  // namespace atalaya::symbols
