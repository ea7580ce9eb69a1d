// SPDX-License-Identifier: Apache-2.0
// The files that processes have mapped, opened as the processes see them and kept with their functions: once per build, however
// many processes, containers and image layers have it, and no more of them than fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/util/files.h"
#include "plugins/symbols/elf_symbols.h"
#include "plugins/symbols/memory_map.h"

namespace atalaya::symbols {

class ElfFiles {
 public:
  explicit ElfFiles(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Files may have changed since: each is looked at again when it is next asked for.
  void next_window() { ++window_; }

  // The functions of a file that the process has mapped; null: it cannot be read, or is no ELF file. Valid until the next call of
  // trim.
  ElfSymbols *find(int32_t pid, const Mapping &mapping);
  // The kernel's own code in every process: there is no file, and this process has the same. Null: there is none.
  ElfSymbols *vdso();
  // The file itself, as it was mapped; closed: it cannot be opened, or another one lies there now.
  static core::Descriptor open(int32_t pid, const Mapping &mapping);

  // Drops those not used for longest until the rest fits.
  void trim();
  size_t bytes() const;

 private:
  struct Entry {
    std::shared_ptr<ElfSymbols> symbols;  // null: not readable
    int64_t size = -1;
    timespec changed{};
    uint64_t looked_at = 0, used = 0;
  };
  void look(int32_t pid, const Mapping &mapping, Entry &entry);
  std::shared_ptr<ElfSymbols> load(int file, int32_t pid, const Mapping &mapping);
  static void add_debug_file(ElfSymbols &symbols, const ElfImage &image, int32_t pid, const Mapping &mapping);

  size_t max_bytes_;
  uint64_t window_ = 1, uses_ = 0;
  std::map<FileId, Entry> entries_;
  std::map<std::string, std::weak_ptr<ElfSymbols>> builds_;
  std::unique_ptr<ElfSymbols> vdso_;
};

}  // namespace atalaya::symbols
