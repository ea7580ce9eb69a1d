// SPDX-License-Identifier: Apache-2.0
// Where one process has code, as it is now and as it was when it was last looked at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/shared/symbols/memory_map.h"
#include "plugins/shared/symbols/process_mark.h"

namespace atalaya::symbols {

class ProcessMaps {
 public:
  explicit ProcessMaps(int32_t pid) : pid_(pid) {}

  // Reads the mappings if the process is still the one with this mark; false: it is not. What was read last stays, for addresses of
  // before.
  bool refresh(const ProcessMark &mark);

  // That one was read before this: its mappings are for addresses of before.
  void follow(const ProcessMaps &earlier) {
    if (before_.empty()) before_ = earlier.mappings_;
  }

  // Null: the address is of nothing. Valid until the next refresh.
  const Mapping *at(uint64_t address) const;
  const std::vector<Mapping> &mappings() const { return mappings_; }
  int32_t pid() const { return pid_; }
  size_t bytes() const;

 private:
  int32_t pid_;
  std::vector<Mapping> mappings_, before_;
};

}  // namespace atalaya::symbols
