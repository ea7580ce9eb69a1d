// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/symbols/unwinder.h"

#include "plugins/shared/symbols/mapped_file.h"
#include "plugins/shared/symbols/vdso.h"

namespace atalaya::symbols {
namespace {

constexpr size_t kMaxTables = 1024, kCountEvery = 1024;

}  // namespace

UnwindTable *Unwinder::vdso_table(const Mapping &mapping) {
  if (!is_own_vdso(mapping)) return nullptr;
  if (!vdso_) vdso_ = UnwindTable::of_memory(own_vdso());
  return vdso_.get();
}

UnwindTable *Unwinder::table_of(const ProcessMaps &maps, const Mapping &mapping) {
  if (mapping.path == "[vdso]") return vdso_table(mapping);
  if (!mapping.is_file() || !mapping.stamp) return nullptr;
  auto [known, is_new] = tables_.try_emplace(mapping.stamp);
  Entry &entry = known->second;
  entry.used = ++uses_;
  const bool again = entry.failed != 0 && (entry.failed != window_ || entry.failed_pid != maps.pid());
  if (is_new || again) read(maps.pid(), mapping, entry);
  if (uses_ % kCountEvery == 0) make_room(entry);  // rules are read on demand
  return entry.table.get();
}

void Unwinder::read(int32_t pid, const Mapping &mapping, Entry &entry) {
  const core::Descriptor file = open_noted(pid, mapping);
  entry.failed = file ? 0 : window_;
  entry.failed_pid = pid;
  if (file) entry.table = UnwindTable::of_file(file.get());
  make_room(entry);
}

// Evicts the least recently used tables.
void Unwinder::make_room(const Entry &wanted) {
  size_t bytes = 0;
  for (const auto &[stamp, entry] : tables_) bytes += entry.table ? entry.table->bytes() : 0;
  while (tables_.size() > 1 && (bytes > max_bytes_ || tables_.size() > kMaxTables)) {
    auto oldest = tables_.end();
    for (auto it = tables_.begin(); it != tables_.end(); ++it)
      if (&it->second != &wanted && (oldest == tables_.end() || it->second.used < oldest->second.used)) oldest = it;
    bytes -= oldest->second.table ? oldest->second.table->bytes() : 0;
    tables_.erase(oldest);
  }
}

bool Unwinder::keeps_frame_pointers(const ProcessMaps &maps) {
  for (const Mapping &mapping : maps.mappings()) {
    UnwindTable *table = mapping.is_file() ? table_of(maps, mapping) : nullptr;
    const auto begin = table == nullptr ? std::nullopt : table->address_of(mapping.offset);
    if (begin && !table->keeps_frame_pointer(*begin, *begin + (mapping.end - mapping.begin))) return false;
  }
  return true;
}

Step Unwinder::step_from(const ProcessMaps &maps, uint64_t address, const StackCopy &stack, Registers &registers, bool &exact) {
  const Mapping *mapping = maps.at(address);
  if (mapping == nullptr) return Step::unknown;
  UnwindTable *table = table_of(maps, *mapping);
  const auto place = table == nullptr ? std::nullopt : table->address_of(address - mapping->begin + mapping->offset);
  const UnwindRule *rule = place ? table->rule_at(*place) : nullptr;
  exact = rule != nullptr && rule->signal;
  return rule != nullptr ? step(*rule, stack, registers) : step_by_frame_pointer(stack, registers);
}

}  // namespace atalaya::symbols
