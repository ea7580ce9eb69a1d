// SPDX-License-Identifier: Apache-2.0
// Functions of an ELF file's symbol tables, and where in the file one of a given name begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "plugins/shared/symbols/elf_image.h"

namespace atalaya::symbols {

inline constexpr size_t kMaxDebugData = size_t{32} << 20;  // .gnu_debugdata unpacked

// As it stands in a symbol table. `address` is in the file's own addresses.
struct Function {
  uint64_t address = 0, size = 0;  // size 0: unknown
  bool indirect = false;           // it answers which function to call (IFUNC)
  std::string_view name;
};

// The functions of the file's first table of this type (SHT_SYMTAB, SHT_DYNSYM), as long as `take` answers true. False: it has no
// such table.
bool each_function(const ElfImage &image, uint32_t table, const std::function<bool(const Function &)> &take);

// The ELF file in a section .gnu_debugdata; empty: damaged, or too large.
std::string unpacked_debug_data(std::string_view packed);

// A function that was asked for.
struct FoundFunction {
  uint64_t offset = 0;  // in the file
  uint64_t size = 0;    // 0: unknown
};

// By its name in the table, by that which people write (as `demangled` has it), or by its address (0x401136), in the file at
// `path`, which is open as `file`, or in its debug file. An error says why there is not just one.
core::Result<FoundFunction> find_function(int file, const std::string &path, std::string_view name);

}  // namespace atalaya::symbols
