// SPDX-License-Identifier: Apache-2.0
// The functions of the files that processes have mapped: once a file, however many processes have it, and never more of them at a
// time than fit. Files of one build are not the same: a build id is what a file says of itself.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/files.h"
#include "plugins/shared/symbols/elf_symbols.h"
#include "plugins/shared/symbols/memory_map.h"

namespace atalaya::symbols {

// The separate debug file of a file of the host, of the same build, where debuggers look for it; closed: there is none.
core::Descriptor open_debug_file(const ElfImage &image, const struct stat &of, const std::string &path);

class ElfFiles {
 public:
  explicit ElfFiles(size_t max_bytes) : max_bytes_(max_bytes) {}

  // A file is read once a window at most: one that had to make room for another has no names until the next one.
  void next_window();

  // The function at an address in a file that the process has mapped; empty: unknown. Valid until the next call of any of these.
  std::string_view name_at(int32_t pid, const Mapping &mapping, uint64_t address);
  std::string_view name_in_vdso(const Mapping &mapping, uint64_t address);

  size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    std::unique_ptr<ElfSymbols> symbols;  // null: not readable, or dropped
    uint64_t read = 0;                    // window
    uint64_t failed = 0;                  // window in which this process could not open it
    int32_t failed_pid = 0;
    uint64_t used = 0;
  };
  Entry *entry_of(const Mapping &mapping);
  void look(int32_t pid, const Mapping &mapping, Entry &entry);
  std::unique_ptr<ElfSymbols> load(int file, int32_t pid, const Mapping &mapping);
  static void add_debug_file(ElfSymbols &symbols, const ElfImage &image, const struct stat &of, int32_t pid,
                             const Mapping &mapping);
  void make_room(const Entry &wanted);
  void drop(Entry &entry);

  size_t max_bytes_, bytes_ = 0;
  uint64_t window_ = 1, uses_ = 0, uses_before_ = 0;
  std::map<FileStamp, Entry> entries_;
  std::unique_ptr<ElfSymbols> vdso_;
};

}  // namespace atalaya::symbols
