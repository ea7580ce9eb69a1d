// SPDX-License-Identifier: Apache-2.0
// The functions of mapped files: one table per file, however many processes map it, within a memory limit.
// Files are not identified by build id, because any file can claim one.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/files.h"
#include "plugins/shared/code/symbols/elf_symbols.h"
#include "plugins/shared/code/symbols/process/memory_map.h"

namespace atalaya::symbols {

// Opens the separate debug file that belongs to a file of the host, from the folders that debuggers search. Returns an invalid
// descriptor if none is of the same build.
core::Descriptor open_debug_file(const ElfImage &image, const struct stat &of, const std::string &path);

class ElfFiles {
 public:
  explicit ElfFiles(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Starts a window. A file is read at most once per window: the functions of an evicted file are unknown until the next window.
  void next_window();

  // The function at an address of a mapped file; "" if it is unknown. Valid until the next call of a member function.
  std::string_view name_at(int32_t pid, const Mapping &mapping, uint64_t address);
  std::string_view name_in_vdso(const Mapping &mapping, uint64_t address);

  size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    std::unique_ptr<ElfSymbols> symbols;  // null: not readable, or evicted
    uint64_t read = 0;                    // window of the last reading
    uint64_t failed = 0;                  // window in which failed_pid could not open it
    int32_t failed_pid = 0;
    uint64_t used = 0;
  };
  Entry *entry_of(const Mapping &mapping);
  void update(int32_t pid, const Mapping &mapping, Entry &entry);
  std::unique_ptr<ElfSymbols> load(int file, int32_t pid, const Mapping &mapping);
  static void add_debug_file(ElfSymbols &symbols, const ElfImage &image, const struct stat &of, int32_t pid,
                             const Mapping &mapping);
  void evict_for(const Entry &required);
  void evict(Entry &entry);

  size_t max_bytes_, bytes_ = 0;
  uint64_t window_ = 1, uses_ = 0, uses_before_window_ = 0;
  std::map<FileStamp, Entry> entries_;
  std::unique_ptr<ElfSymbols> vdso_;
};

}  // namespace atalaya::symbols
