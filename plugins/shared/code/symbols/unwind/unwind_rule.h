// SPDX-License-Identifier: Apache-2.0
// Rules that compute the caller's registers from the stack, from DWARF's call frame information (DWARF 5, section 6.4).
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace atalaya::symbols {

// Registers by their DWARF numbers. The last one is the return address on x86-64, the program counter on arm64.
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
  // How to compute a value. same: unchanged. undefined: it has no value. offset: for a saved register, the word at CFA + offset;
  // for the CFA, register `number` + offset. expression: the result of expressions[offset].
  enum class Kind : uint8_t { same, undefined, offset, expression };
  struct Place {
    Kind kind = Kind::same;
    uint8_t number = 0;  // DWARF number of the register
    int64_t offset = 0;
    auto operator<=>(const Place &) const = default;
  };

  Place frame, caller;       // frame: the CFA; caller: the return address
  std::vector<Place> saved;  // registers on the stack, which a caller's rule may need
  bool signal = false;       // a signal frame: the caller was interrupted, so its address is exact, not a return address
  std::vector<std::vector<Operation>> expressions;

  auto operator<=>(const UnwindRule &) const = default;
  size_t bytes() const;
};

enum class Step : uint8_t { done, root, unknown, beyond_copy, no_room };  // no_room: the table is not in memory

// Unwinds one frame: sets the registers to those of its caller. `root`: there is no caller.
Step step(const UnwindRule &rule, const StackCopy &stack, Registers &registers);
// Unwinds one frame by its frame pointer, for code without a rule.
Step step_by_frame_pointer(const StackCopy &stack, Registers &registers);

}  // namespace atalaya::symbols
