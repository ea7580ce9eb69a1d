// SPDX-License-Identifier: Apache-2.0
// Functions of an ELF file's symbol tables, and the file offset of a function by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "plugins/shared/code/symbols/elf_image.h"

namespace atalaya::symbols {

inline constexpr size_t kMaxDebugData = size_t{32} << 20;  // bytes of the decompressed .gnu_debugdata

// An entry of a symbol table. `address` is the virtual address in the file (st_value).
struct Function {
  uint64_t address = 0, size = 0;  // size 0: unknown
  bool indirect = false;           // a resolver, which selects the function at run time (IFUNC)
  std::string_view name;
};

// Calls `take` for the functions in the file's first table of this type (SHT_SYMTAB, SHT_DYNSYM) until it returns false. False if
// the file has no such table.
bool for_each_function(const ElfImage &image, uint32_t table, const std::function<bool(const Function &)> &take);

// Decompresses the ELF file in a section .gnu_debugdata (xz); "" if it is damaged or too large.
std::string decompress_debug_data(std::string_view compressed);

// A function found by name.
struct FoundFunction {
  uint64_t offset = 0;  // in the file
  uint64_t size = 0;    // 0: unknown
};

// Finds a function by its symbol, by its demangled name, or by its address (0x401136), in the file `path`, which is open as
// `file`, or in its debug file. Returns an error if the number of matches is not one.
core::Result<FoundFunction> find_function(int file, const std::string &path, std::string_view name);

}  // namespace atalaya::symbols
