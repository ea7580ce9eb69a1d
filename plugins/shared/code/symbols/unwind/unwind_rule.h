// SPDX-License-Identifier: Apache-2.0
// How the caller of an address is found on the stack, by DWARF's call frame information (DWARF 5, section 6.4).
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace atalaya::symbols {

// By DWARF numbers: on x86-64 the last is the return address, on arm64 the program counter.
#if defined(__aarch64__)
inline constexpr size_t kRegisters = 33, kFramePointer = 29, kStackPointer = 31, kReturnAddress = 30, kProgramCounter = 32;
#else
inline constexpr size_t kRegisters = 17, kFramePointer = 6, kStackPointer = 7, kReturnAddress = 16, kProgramCounter = 16;
#endif
using Registers = std::array<uint64_t, kRegisters>;

// A thread's stack, or the part of it that was copied.
struct StackCopy {
  uint64_t begin = 0;
  std::span<const std::byte> bytes;
  std::optional<uint64_t> word(uint64_t address) const;
};

// The unwind rule of an address. Its frame is the canonical frame address (CFA) of DWARF.
struct UnwindRule {
  struct Operation {
    uint8_t atom;  // DW_OP_*
    uint64_t number, number2;
    auto operator<=>(const Operation &) const = default;
  };
  // same: unchanged. undefined: there is none. offset: the word at these bytes from the frame; the frame itself is at these bytes
  // from the register `number`. expression: `offset` is its index.
  enum class Kind : uint8_t { same, undefined, offset, expression };
  struct Place {
    Kind kind = Kind::same;
    uint8_t number = 0;  // of the register
    int64_t offset = 0;
    auto operator<=>(const Place &) const = default;
  };

  Place frame, caller;       // caller: of the return address
  std::vector<Place> saved;  // registers on the stack, which a caller's rule may need
  bool signal = false;       // the caller was interrupted here: its address is exact
  std::vector<std::vector<Operation>> expressions;

  auto operator<=>(const UnwindRule &) const = default;
  size_t bytes() const;
};

enum class Step : uint8_t { done, root, unknown, beyond_copy, no_room };  // no_room: the table is not in memory

// Unwinds one frame to its caller. `root`: there is no caller.
Step step(const UnwindRule &rule, const StackCopy &stack, Registers &registers);
// The same for code without a rule, by its frame pointer.
Step step_by_frame_pointer(const StackCopy &stack, Registers &registers);

}  // namespace atalaya::symbols
