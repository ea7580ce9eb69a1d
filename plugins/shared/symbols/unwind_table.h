// SPDX-License-Identifier: Apache-2.0
// Unwind rules of a file: .eh_frame, which compilers write for exceptions and which is not stripped. libdw
// reads it; rules are cached by address.
#pragma once

#include <elfutils/libdw.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "plugins/shared/symbols/elf_image.h"

namespace atalaya::symbols {

// By DWARF numbers: x86-64 has 17, the last is the return address; arm64 has 33, the last is the program counter.
inline constexpr size_t kRegisters = 33;
#if defined(__aarch64__)
inline constexpr size_t kFramePointer = 29, kStackPointer = 31, kReturnAddress = 30, kProgramCounter = 32;
#else
inline constexpr size_t kFramePointer = 6, kStackPointer = 7, kReturnAddress = 16, kProgramCounter = 16;
#endif
using Registers = std::array<uint64_t, kRegisters>;

// A thread's stack, or the part of it that was copied.
struct StackCopy {
  uint64_t begin = 0;
  std::span<const std::byte> bytes;
  std::optional<uint64_t> word(uint64_t address) const;
};

// The unwind rule of one address.
struct UnwindRule {
  enum class Kind : uint8_t { same, undefined, expression };
  struct Place {
    Kind kind = Kind::same;
    std::vector<Dwarf_Op> ops;
  };
  std::vector<Dwarf_Op> frame;  // yields the canonical frame address
  std::vector<std::pair<size_t, Place>> registers;
  Place caller;         // of the return address
  bool signal = false;  // the caller was interrupted here: its address is exact
  size_t bytes() const;
};

enum class Step : uint8_t { done, root, unknown, beyond_copy, no_room };  // no_room: the table is not in memory

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
  static std::unique_ptr<UnwindRule> read_rule(Dwarf_Frame *frame);

  ElfImage image_;
  size_t table_bytes_, rule_bytes_ = 0;
  Segments segments_;
  Dwarf_CFI *table_;
  std::unordered_map<uint64_t, std::unique_ptr<UnwindRule>> rules_;  // null: none
};

// Unwinds one frame to its caller. `root`: there is no caller.
Step step(const UnwindRule &rule, const StackCopy &stack, Registers &registers);
// The same for code without a rule, by its frame pointer.
Step step_by_frame_pointer(const StackCopy &stack, Registers &registers);

}  // namespace atalaya::symbols
