// SPDX-License-Identifier: Apache-2.0
// The unwind tables of a program (.eh_frame, read by libdw), and the stack of its thread: both are the program's own bytes.
// The first 256 bytes are the stack, the rest is the file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "plugins/shared/code/symbols/unwind/unwind_table.h"

using namespace atalaya::symbols;

namespace {

constexpr size_t kStack = 256;
constexpr uint64_t kStackBegin = 0x7ffd00000000;

void require(bool holds) {
  if (!holds) std::abort();
}

Registers registers_at(uint64_t address) {
  Registers registers{};
  registers[kStackPointer] = kStackBegin + 16;
  registers[kFramePointer] = kStackBegin + 64;
  registers[kProgramCounter] = address;
  return registers;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < kStack) return 0;
  const auto bytes = std::as_bytes(std::span(data, size));
  const StackCopy stack{kStackBegin, bytes.first(kStack)};
  const auto table = UnwindTable::of_memory(bytes.subspan(kStack));
  if (!table) return 0;
  constexpr size_t kSteps = 64;
  for (size_t offset = 0, steps = 0; offset < size && steps < kSteps; offset += 64, ++steps) {
    const auto address = table->address_of(offset);
    if (!address) continue;
    Registers registers = registers_at(*address);
    if (const UnwindRule *rule = table->rule_at(*address)) static_cast<void>(step(*rule, stack, registers));
    registers = registers_at(*address);
    static_cast<void>(step_by_frame_pointer(stack, registers));
  }
  static_cast<void>(table->keeps_frame_pointer(0, UINT64_MAX));
  require(table->bytes() < size_t{64} << 20);
  return 0;
}
