// SPDX-License-Identifier: Apache-2.0
// Unwind rules of a file: .eh_frame, which compilers write for exceptions and which is not stripped. libdw
// reads it; rules are cached by address.
#pragma once

#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>

#include "plugins/shared/code/symbols/elf_image.h"
#include "plugins/shared/code/symbols/unwind/unwind_rule.h"

namespace atalaya::symbols {

class UnwindTable {
 public:
  // of_file reads the whole file, which may then be closed; memory must outlive this. Null: not an ELF file, or beyond the
  // limits.
  static std::unique_ptr<UnwindTable> of_file(int file);
  static std::unique_ptr<UnwindTable> of_memory(std::span<const std::byte> bytes);
  UnwindTable(const UnwindTable &) = delete;
  UnwindTable &operator=(const UnwindTable &) = delete;
  ~UnwindTable();

  // The rule at an address of the file; null: none. Valid until the next call.
  const UnwindRule *rule_at(uint64_t address);
  // The file's own address for a file offset.
  std::optional<uint64_t> address_of(uint64_t file_offset) const { return segments_.address_of(file_offset); }
  // Whether functions in this range of the file's own addresses keep the caller's frame pointer on the stack, as callers found by
  // frame pointers require. True without any rule: only frame pointers can show its callers.
  bool keeps_frame_pointer(uint64_t begin, uint64_t end);
  size_t bytes() const { return table_bytes_ + rule_bytes_; }

 private:
  UnwindTable(ElfImage image, size_t table_bytes);
  const UnwindRule *read_rule(uint64_t address);

  ElfImage image_;
  size_t table_bytes_, rule_bytes_ = 0;
  Segments segments_;
  Dwarf_CFI *table_;
  std::set<UnwindRule> rules_;                                   // many addresses have the same one
  std::unordered_map<uint64_t, const UnwindRule *> by_address_;  // null: none
};

}  // namespace atalaya::symbols
