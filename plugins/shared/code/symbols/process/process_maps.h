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

  // Reads the mappings if the process still has this mark; false: it does not. The previous mappings are kept for earlier
  // addresses.
  bool refresh(const ProcessMark &mark);

  // Uses the mappings of an earlier reading for earlier addresses.
  void follow(const ProcessMaps &earlier) {
    if (before_.empty()) before_ = earlier.mappings_;
  }

  // Null: not mapped. Valid until the next refresh.
  const Mapping *at(uint64_t address) const;
  const std::vector<Mapping> &mappings() const { return mappings_; }
  int32_t pid() const { return pid_; }
  size_t bytes() const;

 private:
  int32_t pid_;
  int64_t noted_ns_ = 0;  // the last reading that opened all files
  size_t hash_ = 0;       // of the text of the last reading: the same text has the same mappings and files
  std::vector<Mapping> mappings_, before_;
};

}  // namespace atalaya::symbols
