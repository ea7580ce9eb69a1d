// SPDX-License-Identifier: Apache-2.0
// The unwind rules of a file from .eh_frame, which compilers write for exceptions and which is not stripped. libdw reads it;
// rules are cached by address.
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
  // of_file reads the whole file, which may then be closed; the memory of of_memory must outlive the table. Null if it is not an
  // ELF file, or exceeds the limits.
  static std::unique_ptr<UnwindTable> of_file(int file);
  static std::unique_ptr<UnwindTable> of_memory(std::span<const std::byte> bytes);
  UnwindTable(const UnwindTable &) = delete;
  UnwindTable &operator=(const UnwindTable &) = delete;
  ~UnwindTable();

  // The rule at a virtual address of the file; null if there is none. Valid until the next call.
  const UnwindRule *rule_at(uint64_t address);
  // The virtual address of a file offset.
  std::optional<uint64_t> address_of(uint64_t file_offset) const { return segments_.address_of(file_offset); }
  // Whether the functions in a range of virtual addresses save the caller's frame pointer on the stack, which unwinding by frame
  // pointers requires. True if the range has no rule, because only frame pointers can then show its callers.
  bool keeps_frame_pointer(uint64_t begin, uint64_t end);
  size_t bytes() const { return table_bytes_ + rule_bytes_; }

 private:
  UnwindTable(ElfImage image, size_t table_bytes);
  const UnwindRule *read_rule(uint64_t address);

  ElfImage image_;
  size_t table_bytes_, rule_bytes_ = 0;
  Segments segments_;
  Dwarf_CFI *table_;
  std::set<UnwindRule> rules_;                                   // shared by many addresses
  std::unordered_map<uint64_t, const UnwindRule *> by_address_;  // null: the address has no rule
};

}  // namespace atalaya::symbols
