// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/symbols/unwind/unwind_rule.h"

#include <dwarf.h>

#include <cstring>

namespace atalaya::symbols {
namespace {

constexpr size_t kMaxDepth = 16;

// Evaluates an expression: the subset of DWARF that unwind tables use.
class Machine {
 public:
  Machine(const StackCopy &stack, const Registers &registers, uint64_t frame)
      : stack_(stack), registers_(registers), frame_(frame) {}

  struct Result {
    Step step = Step::unknown;
    uint64_t value = 0;
    bool is_value = false;  // else its address
  };
  Result run(std::span<const UnwindRule::Operation> ops) {
    for (const UnwindRule::Operation &op : ops)
      if (!apply(op)) return {beyond_ ? Step::beyond_copy : Step::unknown, 0, false};
    if (depth_ == 0) return {};
    return {Step::done, words_[depth_ - 1], is_value_};
  }

 private:
  bool push(uint64_t word) {
    if (depth_ == kMaxDepth) return false;
    words_[depth_++] = word;
    return true;
  }
  bool push_register(uint64_t number, uint64_t offset) { return number < kRegisters && push(registers_[number] + offset); }
  bool dereference() {
    if (depth_ == 0) return false;
    const auto word = stack_.word(words_[depth_ - 1]);
    beyond_ = !word;
    if (word) words_[depth_ - 1] = *word;
    return word.has_value();
  }
  template <class F>
  bool binary(F function) {
    if (depth_ < 2) return false;
    --depth_;
    words_[depth_ - 1] = function(words_[depth_ - 1], words_[depth_]);
    return true;
  }

  bool apply(const UnwindRule::Operation &op) {
    if (op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31) return push_register(op.atom - DW_OP_breg0, op.number);
    if (op.atom >= DW_OP_lit0 && op.atom <= DW_OP_lit31) return push(op.atom - DW_OP_lit0);
    if (op.atom >= DW_OP_reg0 && op.atom <= DW_OP_reg31) return is_value_ = true, push_register(op.atom - DW_OP_reg0, 0);
    switch (op.atom) {
      case DW_OP_bregx:
        return push_register(op.number, op.number2);
      case DW_OP_regx:
        return is_value_ = true, push_register(op.number, 0);
      case DW_OP_call_frame_cfa:
        return push(frame_);
      case DW_OP_const1u:
      case DW_OP_const1s:
      case DW_OP_const2u:
      case DW_OP_const2s:
      case DW_OP_const4u:
      case DW_OP_const4s:
      case DW_OP_constu:
      case DW_OP_consts:
        return push(op.number);
      case DW_OP_stack_value:
        return is_value_ = true;
      case DW_OP_deref:
        return dereference();
      case DW_OP_plus_uconst:
        return depth_ > 0 && (words_[depth_ - 1] += op.number, true);
      case DW_OP_plus:
        return binary([](uint64_t a, uint64_t b) { return a + b; });
      case DW_OP_minus:
        return binary([](uint64_t a, uint64_t b) { return a - b; });
      case DW_OP_and:
        return binary([](uint64_t a, uint64_t b) { return a & b; });
      case DW_OP_shl:
        return binary([](uint64_t a, uint64_t b) { return b < 64 ? a << b : 0; });
      case DW_OP_ge:
        return binary(
            [](uint64_t a, uint64_t b) { return static_cast<uint64_t>(static_cast<int64_t>(a) >= static_cast<int64_t>(b)); });
      default:
        return false;
    }
  }

  const StackCopy &stack_;
  const Registers &registers_;
  uint64_t frame_;
  std::array<uint64_t, kMaxDepth> words_{};
  size_t depth_ = 0;
  bool is_value_ = false, beyond_ = false;
};

Machine::Result frame_of(const UnwindRule &rule, const StackCopy &stack, const Registers &registers) {
  if (rule.frame.kind == UnwindRule::Kind::offset)
    return {Step::done, registers[rule.frame.number] + static_cast<uint64_t>(rule.frame.offset), false};
  return Machine(stack, registers, 0).run(rule.expressions[static_cast<size_t>(rule.frame.offset)]);
}

// The value of a register that is on the stack, or has an expression.
Machine::Result restored(const UnwindRule &rule, const UnwindRule::Place &place, const StackCopy &stack, const Registers &registers,
                         uint64_t frame) {
  Machine::Result result{Step::done, frame + static_cast<uint64_t>(place.offset), false};
  if (place.kind == UnwindRule::Kind::expression)
    result = Machine(stack, registers, frame).run(rule.expressions[static_cast<size_t>(place.offset)]);
  if (result.step != Step::done || result.is_value) return result;
  const auto word = stack.word(result.value);
  return word ? Machine::Result{Step::done, *word, true} : Machine::Result{Step::beyond_copy, 0, false};
}

}  // namespace

std::optional<uint64_t> StackCopy::word(uint64_t address) const {
  uint64_t value = 0;
  if (address < begin || address - begin > bytes.size() || bytes.size() - (address - begin) < sizeof(value)) return std::nullopt;
  std::memcpy(&value, bytes.data() + (address - begin), sizeof(value));
  return value;
}

size_t UnwindRule::bytes() const {
  size_t sum = sizeof(UnwindRule) + saved.capacity() * sizeof(Place);
  for (const auto &operations : expressions) sum += sizeof(operations) + operations.capacity() * sizeof(Operation);
  return sum;
}

Step step(const UnwindRule &rule, const StackCopy &stack, Registers &registers) {
  if (rule.caller.kind == UnwindRule::Kind::undefined) return Step::root;
  const auto frame = frame_of(rule, stack, registers);
  if (frame.step != Step::done) return frame.step;
  Machine::Result caller{Step::done, registers[kReturnAddress], true};
  if (rule.caller.kind != UnwindRule::Kind::same) caller = restored(rule, rule.caller, stack, registers, frame.value);
  if (caller.step != Step::done) return caller.step;
  Registers before = registers;
  for (const UnwindRule::Place &place : rule.saved) {
    const auto value = restored(rule, place, stack, registers, frame.value);
    if (value.step == Step::done) before[place.number] = value.value;
  }
  // A valid frame is above its callee. A signal handler may run on another stack; there the frame address is the stack pointer of
  // the interrupted code.
  if (!rule.signal && frame.value < registers[kStackPointer]) return Step::unknown;
  const bool moved = frame.value != registers[kStackPointer] || caller.value != registers[kProgramCounter];
  before[kStackPointer] = frame.value;
  before[kProgramCounter] = caller.value;
  registers = before;
  if (caller.value == 0) return Step::root;
  return moved ? Step::done : Step::unknown;
}

// The frame pointer points to the saved frame pointer of the caller, which the return address follows.
Step step_by_frame_pointer(const StackCopy &stack, Registers &registers) {
  const uint64_t frame = registers[kFramePointer];
  if (frame < registers[kStackPointer] || frame % sizeof(uint64_t) != 0) return Step::unknown;
  const auto saved = stack.word(frame), caller = stack.word(frame + sizeof(uint64_t));
  if (!saved || !caller) return frame - stack.begin < (uint64_t{1} << 23) ? Step::beyond_copy : Step::unknown;
  registers[kFramePointer] = *saved;
  registers[kStackPointer] = frame + 2 * sizeof(uint64_t);
  registers[kProgramCounter] = *caller;
  return *caller == 0 ? Step::root : Step::done;
}

}  // namespace atalaya::symbols
