// SPDX-License-Identifier: Apache-2.0
#include "plugins/symbols/unwinder.h"

#include <sys/auxv.h>

namespace atalaya::symbols {
namespace {

// Each keeps its file open.
constexpr size_t kMaxTables = 256;

}  // namespace

UnwindTable *Unwinder::vdso_table(const Mapping &mapping) {
  const auto base = ::getauxval(AT_SYSINFO_EHDR);
  if (!vdso_ && base != 0)
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel tells it as a number
    vdso_ = UnwindTable::of_memory({reinterpret_cast<const std::byte *>(base), mapping.end - mapping.begin});
  return vdso_.get();
}

UnwindTable *Unwinder::table_of(const ProcessMemory &memory, const Mapping &mapping) {
  if (mapping.path == "[vdso]") return vdso_table(mapping);
  if (!mapping.is_file()) return nullptr;
  const auto known = tables_.find(mapping.file);
  if (known != tables_.end()) return known->second.get();
  core::Descriptor file = ElfFiles::open(memory.pid(), mapping);
  if (!file) return nullptr;  // the process has ended; another one may have it too
  if (tables_.size() >= kMaxTables) tables_.clear();
  return tables_.emplace(mapping.file, UnwindTable::of_file(std::move(file))).first->second.get();
}

Step Unwinder::step_from(const ProcessMemory &memory, uint64_t address, const StackCopy &stack, Registers &registers, bool &exact) {
  const Mapping *mapping = memory.mapping_at(address);
  if (mapping == nullptr) return Step::unknown;
  UnwindTable *table = table_of(memory, *mapping);
  const auto place = table == nullptr ? std::nullopt : table->address_of(address - mapping->begin + mapping->offset);
  const UnwindRule *rule = place ? table->rule_at(*place) : nullptr;
  exact = rule != nullptr && rule->signal;
  return rule != nullptr ? step(*rule, stack, registers) : step_by_frame_pointer(stack, registers);
}

}  // namespace atalaya::symbols
