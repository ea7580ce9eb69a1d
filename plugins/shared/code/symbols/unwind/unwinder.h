// SPDX-License-Identifier: Apache-2.0
// Unwinds copied stacks by the unwind tables of mapped files, and by frame pointers in code without tables.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "plugins/shared/code/symbols/process/process_maps.h"
#include "plugins/shared/code/symbols/unwind/unwind_table.h"

namespace atalaya::symbols {

enum class Unwound : uint8_t { to_root, truncated, failed };

class Unwinder {
 public:
  static constexpr size_t kMaxFrames = 512;

  explicit Unwinder(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Starts a window, in which files that could not be read, and evicted tables, are read again.
  void next_window() {
    ++window_;
    reread_bytes_ = 0;
  }

  // Whether all files of a process use frame pointers, according to their tables. Each file is examined once.
  bool keeps_frame_pointers(const ProcessMaps &maps);

  // Returns the frames, leaf first; callers are return addresses. `truncated`: the copy is too short, the stack too deep, or the
  // tables of the window's programs exceed the memory limit and were read again too often. For an unmapped address, which may be
  // newer than the maps, `refresh` is called once.
  template <class Refresh>
  Unwound unwind(const ProcessMaps &maps, Registers registers, const StackCopy &stack, std::vector<uint64_t> &frames,
                 const Refresh &refresh) {
    frames.clear();
    bool exact = true, refreshed = false;
    for (;;) {
      const uint64_t at = registers[kProgramCounter];
      frames.push_back(at);
      if (frames.size() == kMaxFrames) return Unwound::truncated;
      if (maps.at(exact ? at : at - 1) == nullptr && !std::exchange(refreshed, true)) refresh();
      const Step result = step_from(maps, exact ? at : at - 1, stack, registers, exact);
      if (result == Step::root) return Unwound::to_root;
      if (result == Step::beyond_copy || result == Step::no_room) return Unwound::truncated;
      if (result == Step::unknown) return Unwound::failed;
    }
  }

 private:
  struct Entry {
    std::unique_ptr<UnwindTable> table;  // null: the file has none, this process could not open it, or it was evicted
    std::optional<bool> keeps_frame_pointer;
    size_t evicted = 0;  // bytes of the evicted table; 0: it was not evicted
    uint64_t used = 0;
    uint64_t failed = 0;  // window in which failed_pid could not open the file
    int32_t failed_pid = 0;
  };
  Step step_from(const ProcessMaps &maps, uint64_t address, const StackCopy &stack, Registers &registers, bool &exact);
  Entry *entry_of(const ProcessMaps &maps, const Mapping &mapping);
  bool keeps_frame_pointer(const ProcessMaps &maps, const Mapping &mapping);
  UnwindTable *vdso_table(const Mapping &mapping);
  void read(int32_t pid, const Mapping &mapping, Entry &entry);
  bool may_read_again(const Entry &entry);
  void evict_for(const Entry &required);
  void remove_oldest(const Entry &required);

  size_t max_bytes_, reread_bytes_ = 0;  // reread_bytes_: bytes of evicted tables that were read again in this window
  uint64_t window_ = 1, uses_ = 0;
  std::map<FileStamp, Entry> tables_;
  std::unique_ptr<UnwindTable> vdso_;
};

}  // namespace atalaya::symbols
