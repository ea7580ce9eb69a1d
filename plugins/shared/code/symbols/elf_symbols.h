// SPDX-License-Identifier: Apache-2.0
// The functions of one ELF file: .symtab, or .dynsym plus .gnu_debugdata and a separate debug file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plugins/shared/code/symbols/elf_image.h"
#include "plugins/shared/code/symbols/functions.h"

namespace atalaya::symbols {

class ElfSymbols {
 public:
  explicit ElfSymbols(const ElfImage &image);
  // Adds the functions of a debug file of the same build.
  void add(const ElfImage &debug);

  // Whether the file itself has only exported names.
  bool stripped() const { return stripped_; }

  // The demangled name of the function at a file offset; "" if it is unknown. Valid as long as this object.
  std::string_view find(uint64_t file_offset);
  size_t bytes() const { return symbols_.capacity() * sizeof(Symbol) + names_.capacity() + known_bytes_; }

 private:
  struct Symbol {
    uint64_t address, size;  // size 0: unknown
    uint32_t name, name_size;
  };
  bool collect(const ElfImage &image, uint32_t type);
  void collect_packed(std::string_view packed);
  void sort();
  const Symbol *symbol_at(uint64_t address) const;

  Segments segments_;
  std::vector<Symbol> symbols_;  // sorted by address
  std::string names_;
  bool stripped_ = false;
  std::unordered_map<uint64_t, std::string> known_;  // demangled names by address of the symbol
  size_t known_bytes_ = 0;
};

}  // namespace atalaya::symbols
