// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/symbols/unwind_table.h"

#include <dwarf.h>
#include <gelf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace atalaya::symbols {
namespace {

constexpr size_t kMaxTable = size_t{48} << 20, kMaxRules = size_t{8} << 20;  // bytes
constexpr size_t kMaxOps = 64, kMaxDepth = 16;

struct FreeFrame {
  void operator()(Dwarf_Frame *frame) const { std::free(frame); }  // NOLINT(cppcoreguidelines-no-malloc): the library's memory
};

// Callee-saved registers, which a caller's rule may need.
#if defined(__aarch64__)
constexpr std::array<size_t, 13> kSaved = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
#else
constexpr std::array<size_t, 6> kSaved = {3, 6, 12, 13, 14, 15};
#endif

UnwindRule::Place place_of(Dwarf_Frame *frame, size_t number) {
  std::array<Dwarf_Op, 3> memory{};
  Dwarf_Op *ops = nullptr;
  size_t count = 0;
  UnwindRule::Place place;
  if (dwarf_frame_register(frame, static_cast<int>(number), memory.data(), &ops, &count) != 0 || count > kMaxOps)
    place.kind = UnwindRule::Kind::undefined;
  else if (count > 0)
    place = {UnwindRule::Kind::expression, {ops, ops + count}};
  else
    place.kind = ops == nullptr ? UnwindRule::Kind::same : UnwindRule::Kind::undefined;
  return place;
}

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
  Result run(std::span<const Dwarf_Op> ops) {
    for (const Dwarf_Op &op : ops)
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

  bool apply(const Dwarf_Op &op) {
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

// The value of a register by an expression.
Machine::Result restored(const UnwindRule::Place &place, const StackCopy &stack, const Registers &registers, uint64_t frame) {
  Machine::Result result = Machine(stack, registers, frame).run(place.ops);
  if (result.step != Step::done || result.is_value) return result;
  const auto word = stack.word(result.value);
  return word ? Machine::Result{Step::done, *word, true} : Machine::Result{Step::beyond_copy, 0, false};
}

bool is_table(const ElfImage &image, Elf_Scn *section, uint64_t &bytes) {
  const std::string_view name = image.name_of(section);
  GElf_Shdr header;
  if ((name != ".eh_frame" && name != ".eh_frame_hdr") || gelf_getshdr(section, &header) == nullptr) return false;
  bytes = header.sh_size;
  return header.sh_type != SHT_NOBITS && name == ".eh_frame" && bytes > 0;
}

bool has_large_segment(const ElfImage &image) {
  size_t segments = 0;
  if (elf_getphdrnum(image.raw(), &segments) != 0) return true;
  for (size_t i = 0; i < segments; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(image.raw(), static_cast<int>(i), &header) == nullptr) return true;
    if (header.p_type == PT_GNU_EH_FRAME && header.p_filesz > kMaxTable) return true;
  }
  return false;
}

// Number of bytes that libdw will read; nothing: too many.
std::optional<size_t> table_size(const ElfImage &image, uint64_t file_bytes) {
  uint64_t sum = 0;
  bool found = false;
  for (Elf_Scn *section = nullptr; (section = elf_nextscn(image.raw(), section)) != nullptr;) {
    uint64_t bytes = 0;
    found = is_table(image, section, bytes) || found;
    if (bytes > kMaxTable || (sum += bytes) > kMaxTable) return std::nullopt;
  }
  if (!found) sum = file_bytes;
  return sum > kMaxTable || has_large_segment(image) ? std::nullopt : std::optional<size_t>(sum);
}

}  // namespace

std::optional<uint64_t> StackCopy::word(uint64_t address) const {
  uint64_t value = 0;
  if (address < begin || address - begin > bytes.size() || bytes.size() - (address - begin) < sizeof(value)) return std::nullopt;
  std::memcpy(&value, bytes.data() + (address - begin), sizeof(value));
  return value;
}

size_t UnwindRule::bytes() const {
  size_t ops = frame.capacity() + caller.ops.capacity();
  for (const auto &[number, place] : registers) ops += place.ops.capacity();
  return sizeof(UnwindRule) + registers.capacity() * sizeof(registers[0]) + ops * sizeof(Dwarf_Op);
}

UnwindTable::UnwindTable(ElfImage image, size_t table_bytes)
    : image_(std::move(image)), table_bytes_(table_bytes), segments_(image_), table_(dwarf_getcfi_elf(image_.raw())) {}

UnwindTable::~UnwindTable() {
  if (table_ != nullptr) dwarf_cfi_end(table_);
}

// libdw reads both sections, of any size, or the whole file if they are missing.
std::unique_ptr<UnwindTable> UnwindTable::of_file(int file) {
  struct stat info {};
  auto image = ElfImage::of_file(file);
  if (!image || ::fstat(file, &info) != 0) return nullptr;
  const auto size = table_size(*image, static_cast<uint64_t>(info.st_size));
  if (!size) return nullptr;
  std::unique_ptr<UnwindTable> table(new UnwindTable(std::move(*image), *size));
  elf_cntl(table->image_.raw(), ELF_C_FDDONE);
  return table;
}

std::unique_ptr<UnwindTable> UnwindTable::of_memory(std::span<const std::byte> bytes) {
  auto image = ElfImage::of_memory(bytes);
  return image ? std::unique_ptr<UnwindTable>(new UnwindTable(std::move(*image), 0)) : nullptr;
}

const UnwindRule *UnwindTable::rule_at(uint64_t address) {
  if (table_ == nullptr) return nullptr;
  if (const auto known = rules_.find(address); known != rules_.end()) return known->second.get();
  if (rule_bytes_ >= kMaxRules) {
    rules_.clear();
    rule_bytes_ = 0;
  }
  Dwarf_Frame *raw = nullptr;
  const bool found = dwarf_cfi_addrframe(table_, address, &raw) == 0;
  const std::unique_ptr<Dwarf_Frame, FreeFrame> frame(raw);
  static constexpr size_t kNode = 64;
  const UnwindRule *rule = rules_.emplace(address, found ? read_rule(frame.get()) : nullptr).first->second.get();
  rule_bytes_ += kNode + (rule != nullptr ? rule->bytes() : 0);
  return rule;
}

// With frame pointers, the frame of most addresses is relative to this register; without, only that of few functions, with arrays
// of variable length.
bool UnwindTable::keeps_frame_pointer(uint64_t begin, uint64_t end) {
  static constexpr uint64_t kProbes = 64;
  uint64_t by_frame_pointer = 0, known = 0;
  for (uint64_t i = 0; i < kProbes; ++i) {
    const UnwindRule *rule = rule_at(begin + (end - begin) / kProbes * i);
    if (rule == nullptr || rule->frame.empty()) continue;
    ++known;
    by_frame_pointer += rule->frame.front().atom == DW_OP_breg0 + kFramePointer ? 1 : 0;
  }
  return by_frame_pointer * 2 >= known;
}

std::unique_ptr<UnwindRule> UnwindTable::read_rule(Dwarf_Frame *frame) {
  auto rule = std::make_unique<UnwindRule>();
  Dwarf_Op *ops = nullptr;
  size_t count = 0;
  const int caller = dwarf_frame_info(frame, nullptr, nullptr, &rule->signal);
  if (caller < 0 || dwarf_frame_cfa(frame, &ops, &count) != 0 || count == 0 || count > kMaxOps) return nullptr;
  rule->frame.assign(ops, ops + count);
  rule->caller = place_of(frame, static_cast<size_t>(caller));
  for (const size_t number : kSaved)
    if (auto place = place_of(frame, number); place.kind == UnwindRule::Kind::expression)
      rule->registers.emplace_back(number, std::move(place));
  return rule;
}

Step step(const UnwindRule &rule, const StackCopy &stack, Registers &registers) {
  if (rule.caller.kind == UnwindRule::Kind::undefined) return Step::root;
  const auto frame = Machine(stack, registers, 0).run(rule.frame);
  if (frame.step != Step::done) return frame.step;
  Machine::Result caller{Step::done, registers[kReturnAddress], true};
  if (rule.caller.kind == UnwindRule::Kind::expression) caller = restored(rule.caller, stack, registers, frame.value);
  if (caller.step != Step::done) return caller.step;
  Registers before = registers;
  for (const auto &[number, place] : rule.registers) {
    const auto value = restored(place, stack, registers, frame.value);
    if (value.step == Step::done) before[number] = value.value;
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

// The saved frame pointer, followed by the return address.
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
