// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/symbols/unwind/unwind_table.h"

#include <dwarf.h>
#include <gelf.h>
#include <sys/stat.h>

#include <array>
#include <cstdlib>
#include <utility>

namespace atalaya::symbols {
namespace {

constexpr size_t kMaxTable = size_t{48} << 20, kMaxRules = size_t{8} << 20;  // bytes
constexpr size_t kNode = 64;                                                 // bytes of an entry of a map
constexpr size_t kMaxOperations = 64;

struct FreeFrame {
  void operator()(Dwarf_Frame *frame) const { std::free(frame); }  // NOLINT(cppcoreguidelines-no-malloc): the library's memory
};

// Callee-saved registers, which a caller's rule may need.
#if defined(__aarch64__)
constexpr std::array<size_t, 13> kSaved = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
#else
constexpr std::array<size_t, 6> kSaved = {3, 6, 12, 13, 14, 15};
#endif

// Parses the usual rule of a frame: a register plus an offset.
std::optional<UnwindRule::Place> offset_from_register(std::span<const Dwarf_Op> ops) {
  if (ops.size() != 1) return std::nullopt;
  const Dwarf_Op &op = ops.front();
  const bool is_short = op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31;
  const uint64_t number = is_short ? op.atom - DW_OP_breg0 : op.number, offset = is_short ? op.number : op.number2;
  if ((!is_short && op.atom != DW_OP_bregx) || number >= kRegisters) return std::nullopt;
  return UnwindRule::Place{UnwindRule::Kind::offset, static_cast<uint8_t>(number), static_cast<int64_t>(offset)};
}

// Parses the usual rule of a saved register: on the stack at an offset from the frame.
std::optional<UnwindRule::Place> offset_from_frame(std::span<const Dwarf_Op> ops) {
  if (ops.empty() || ops.size() > 2 || ops[0].atom != DW_OP_call_frame_cfa) return std::nullopt;
  if (ops.size() == 2 && ops[1].atom != DW_OP_plus_uconst) return std::nullopt;
  return UnwindRule::Place{UnwindRule::Kind::offset, 0, ops.size() == 2 ? static_cast<int64_t>(ops[1].number) : 0};
}

UnwindRule::Place expression(UnwindRule &rule, std::span<const Dwarf_Op> ops) {
  auto &operations = rule.expressions.emplace_back();
  for (const Dwarf_Op &op : ops) operations.push_back({op.atom, op.number, op.number2});
  return {UnwindRule::Kind::expression, 0, static_cast<int64_t>(rule.expressions.size()) - 1};
}

UnwindRule::Place place_of(Dwarf_Frame *frame, size_t number, UnwindRule &rule) {
  std::array<Dwarf_Op, 3> memory{};
  Dwarf_Op *ops = nullptr;
  size_t count = 0;
  UnwindRule::Place place;
  if (dwarf_frame_register(frame, static_cast<int>(number), memory.data(), &ops, &count) != 0 || count > kMaxOperations)
    place.kind = UnwindRule::Kind::undefined;
  else if (count == 0)
    place.kind = ops == nullptr ? UnwindRule::Kind::same : UnwindRule::Kind::undefined;
  else if (const auto offset = offset_from_frame({ops, count}))
    place = *offset;
  else
    place = expression(rule, {ops, count});
  place.number = static_cast<uint8_t>(number);
  return place;
}

std::optional<UnwindRule> rule_of(Dwarf_Frame *frame) {
  UnwindRule rule;
  Dwarf_Op *ops = nullptr;
  size_t count = 0;
  const int caller = dwarf_frame_info(frame, nullptr, nullptr, &rule.signal);
  if (caller < 0 || dwarf_frame_cfa(frame, &ops, &count) != 0 || count == 0 || count > kMaxOperations) return std::nullopt;
  const auto offset = offset_from_register({ops, count});
  rule.frame = offset ? *offset : expression(rule, {ops, count});
  rule.caller = place_of(frame, static_cast<size_t>(caller), rule);
  for (const size_t number : kSaved) {
    const auto place = place_of(frame, number, rule);
    if (place.kind == UnwindRule::Kind::offset || place.kind == UnwindRule::Kind::expression) rule.saved.push_back(place);
  }
  return rule;
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
  if (const auto known = by_address_.find(address); known != by_address_.end()) return known->second;
  if (rule_bytes_ >= kMaxRules) {
    by_address_.clear();
    rules_.clear();
    rule_bytes_ = 0;
  }
  const UnwindRule *rule = read_rule(address);
  by_address_.emplace(address, rule);
  rule_bytes_ += kNode;
  return rule;
}

const UnwindRule *UnwindTable::read_rule(uint64_t address) {
  Dwarf_Frame *raw = nullptr;
  if (dwarf_cfi_addrframe(table_, address, &raw) != 0) return nullptr;
  const std::unique_ptr<Dwarf_Frame, FreeFrame> frame(raw);
  auto rule = rule_of(frame.get());
  if (!rule) return nullptr;
  const auto [at, is_new] = rules_.insert(std::move(*rule));
  if (is_new) rule_bytes_ += kNode + at->bytes();
  return &*at;
}

// In code with frame pointers, the frame of most addresses is relative to the frame pointer; in other code only in few functions,
// such as those with arrays of variable length.
bool UnwindTable::keeps_frame_pointer(uint64_t begin, uint64_t end) {
  static constexpr uint64_t kProbes = 64;
  uint64_t by_frame_pointer = 0, known = 0;
  for (uint64_t i = 0; i < kProbes; ++i) {
    const UnwindRule *rule = rule_at(begin + (end - begin) / kProbes * i);
    if (rule == nullptr) continue;
    ++known;
    by_frame_pointer += rule->frame.kind == UnwindRule::Kind::offset && rule->frame.number == kFramePointer ? 1 : 0;
  }
  return by_frame_pointer * 2 >= known;
}

}  // namespace atalaya::symbols
