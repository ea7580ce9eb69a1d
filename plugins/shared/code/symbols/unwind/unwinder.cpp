// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/symbols/unwind/unwinder.h"

#include <algorithm>

#include "plugins/shared/code/symbols/mapped_file.h"
#include "plugins/shared/code/symbols/vdso.h"

namespace atalaya::symbols {
namespace {

constexpr size_t kMaxTabledFiles = 4096, kCountEvery = 1024;
constexpr size_t kMaxReadAgain = size_t{8} << 20;  // bytes in a window: a hundredth of a core per second

}  // namespace

UnwindTable *Unwinder::vdso_table(const Mapping &mapping) {
  if (mapping.path != "[vdso]" || !is_own_vdso(mapping)) return nullptr;
  if (!vdso_) vdso_ = UnwindTable::of_memory(own_vdso());
  return vdso_.get();
}

// Null: the mapping is of no file.
Unwinder::Entry *Unwinder::entry_of(const ProcessMaps &maps, const Mapping &mapping) {
  if (!mapping.is_file() || !mapping.stamp) return nullptr;
  auto [known, is_new] = tables_.try_emplace(mapping.stamp);
  Entry &entry = known->second;
  entry.used = ++uses_;
  const bool failed_before = entry.failed != 0 && (entry.failed != window_ || entry.failed_pid != maps.pid());
  if (is_new || failed_before || may_read_again(entry)) read(maps.pid(), mapping, entry);
  if (uses_ % kCountEvery == 0) evict_for(entry);  // rules are read on demand
  return &entry;
}

// Limits repeated reads: with many large programs, such as compilers, each sample would read a table again.
bool Unwinder::may_read_again(const Entry &entry) {
  if (entry.evicted == 0 || (reread_bytes_ > 0 && reread_bytes_ + entry.evicted > kMaxReadAgain)) return false;
  reread_bytes_ += entry.evicted;
  return true;
}

void Unwinder::read(int32_t pid, const Mapping &mapping, Entry &entry) {
  const core::Descriptor file = open_stamped(pid, mapping);
  entry.failed = file ? 0 : window_;
  entry.failed_pid = pid;
  entry.evicted = 0;
  if (file) entry.table = UnwindTable::of_file(file.get());
  evict_for(entry);
}

// Evicts the least recently used tables. Their entries stay, with the results of keeps_frame_pointer.
void Unwinder::evict_for(const Entry &wanted) {
  size_t bytes = 0;
  for (const auto &[stamp, entry] : tables_) bytes += entry.table ? entry.table->bytes() : 0;
  while (bytes > max_bytes_) {
    Entry *oldest = nullptr;
    for (auto &[stamp, entry] : tables_)
      if (entry.table && &entry != &wanted && (oldest == nullptr || entry.used < oldest->used)) oldest = &entry;
    if (oldest == nullptr) break;
    oldest->evicted = oldest->table->bytes();
    bytes -= oldest->evicted;
    oldest->table.reset();
  }
  if (tables_.size() > kMaxTabledFiles) remove_oldest(wanted);
}

void Unwinder::remove_oldest(const Entry &wanted) {
  auto oldest = tables_.end();
  for (auto it = tables_.begin(); it != tables_.end(); ++it)
    if (&it->second != &wanted && (oldest == tables_.end() || it->second.used < oldest->second.used)) oldest = it;
  tables_.erase(oldest);
}

bool Unwinder::keeps_frame_pointers(const ProcessMaps &maps) {
  return std::all_of(maps.mappings().begin(), maps.mappings().end(),
                     [&](const Mapping &mapping) { return keeps_frame_pointer(maps, mapping); });
}

// Returns true for a file without a table, which can only be unwound by frame pointers; false if the table is not in memory.
bool Unwinder::keeps_frame_pointer(const ProcessMaps &maps, const Mapping &mapping) {
  if (const auto known = tables_.find(mapping.stamp); known != tables_.end() && known->second.keeps_frame_pointer)
    return *known->second.keeps_frame_pointer;
  Entry *const entry = entry_of(maps, mapping);
  if (entry != nullptr && entry->evicted != 0) return false;
  const auto begin = entry == nullptr || !entry->table ? std::nullopt : entry->table->address_of(mapping.offset);
  if (!begin) return true;
  entry->keeps_frame_pointer = entry->table->keeps_frame_pointer(*begin, *begin + (mapping.end - mapping.begin));
  return *entry->keeps_frame_pointer;
}

Step Unwinder::step_from(const ProcessMaps &maps, uint64_t address, const StackCopy &stack, Registers &registers, bool &exact) {
  const Mapping *mapping = maps.at(address);
  if (mapping == nullptr) return Step::unknown;
  Entry *const entry = mapping->path == "[vdso]" ? nullptr : entry_of(maps, *mapping);
  if (entry != nullptr && entry->evicted != 0) return Step::no_room;
  UnwindTable *table = entry != nullptr ? entry->table.get() : vdso_table(*mapping);
  const auto place = table == nullptr ? std::nullopt : table->address_of(address - mapping->begin + mapping->offset);
  const UnwindRule *rule = place ? table->rule_at(*place) : nullptr;
  exact = rule != nullptr && rule->signal;
  return rule != nullptr ? step(*rule, stack, registers) : step_by_frame_pointer(stack, registers);
}

}  // namespace atalaya::symbols
