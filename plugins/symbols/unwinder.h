// SPDX-License-Identifier: Apache-2.0
// Call stacks from copies of stacks, by the tables of the files that processes have mapped; code without tables is passed by its
// frame pointer.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "plugins/symbols/process_memory.h"
#include "plugins/symbols/unwind_table.h"

namespace atalaya::symbols {

enum class Unwound : uint8_t { to_root, truncated, failed };

class Unwinder {
 public:
  static constexpr size_t kMaxFrames = 512;

  // The frames, leaf first, callers as return addresses. Mappings that are not known may be newer than the memory's: `refresh` is
  // asked once.
  template <class Refresh>
  Unwound unwind(const ProcessMemory &memory, Registers registers, const StackCopy &stack, std::vector<uint64_t> &frames,
                 const Refresh &refresh) {
    frames.clear();
    bool exact = true, refreshed = false;
    for (;;) {
      const uint64_t at = registers[kProgramCounter];
      frames.push_back(at);
      if (frames.size() == kMaxFrames) return Unwound::truncated;
      if (memory.mapping_at(exact ? at : at - 1) == nullptr && !std::exchange(refreshed, true)) refresh();
      const Step result = step_from(memory, exact ? at : at - 1, stack, registers, exact);
      if (result == Step::root) return Unwound::to_root;
      if (result == Step::beyond_copy) return Unwound::truncated;
      if (result == Step::unknown) return Unwound::failed;
    }
  }

 private:
  Step step_from(const ProcessMemory &memory, uint64_t address, const StackCopy &stack, Registers &registers, bool &exact);
  UnwindTable *table_of(const ProcessMemory &memory, const Mapping &mapping);
  UnwindTable *vdso_table(const Mapping &mapping);

  std::map<FileId, std::unique_ptr<UnwindTable>> tables_;  // null: the file has none
  std::unique_ptr<UnwindTable> vdso_;
};

}  // namespace atalaya::symbols
