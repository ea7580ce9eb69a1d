// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/exits/exit_model.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <string_view>
#include <tuple>

namespace atalaya::proc {
namespace {

// Groups collected per reported group. If a window has more, the smallest so far are merged into the group `other`.
constexpr size_t kCollectedPerKept = 4;

bool uses_more(const ExitGroup &a, const ExitGroup &b) {
  const auto key = [](const ExitGroup &group) { return std::tuple(group.name.text(), group.parent.text(), group.cgroup); };
  const uint64_t a_ns = a.cpu_ns(), b_ns = b.cpu_ns();
  return a_ns != b_ns ? a_ns > b_ns : key(a) < key(b);
}

size_t hash_of(const procfs::Name &name, const procfs::Name &parent, uint64_t cgroup) {
  constexpr size_t kOdd = 0x9e3779b97f4a7c15;
  const std::hash<std::string_view> hash;
  return ((hash(name.text()) * kOdd + hash(parent.text())) * kOdd + cgroup) * kOdd >> 32;
}

}  // namespace

uint64_t ExitGroup::cpu_ns() const {
  const auto known = [this](procfs::Counter counter) { return used.has(counter) ? used.get(counter) : 0; };
  return known(procfs::Counter::user_ns) + known(procfs::Counter::kernel_ns);
}

ExitModel::ExitModel(size_t max_groups)
    : max_groups_(max_groups),
      capacity_(std::max<size_t>(max_groups, 1) * kCollectedPerKept),
      slots_(std::bit_ceil(2 * capacity_)) {
  groups_.reserve(capacity_ + 1);
}

void ExitModel::begin() {
  groups_.clear();
  std::fill(slots_.begin(), slots_.end(), 0);
  other_ = {};
  other_.other = true;
}

void ExitModel::add(const ExitReading &exit, const Counters &used) {
  ExitGroup &group = group_of(exit);
  ++group.exits;
  group.used.add(used);
}

ExitGroup &ExitModel::group_of(const ExitReading &exit) {
  const size_t mask = slots_.size() - 1;
  size_t at = hash_of(exit.last.name, exit.parent, exit.cgroup) & mask;
  for (; slots_[at] != 0; at = (at + 1) & mask) {
    ExitGroup &group = groups_[slots_[at] - 1];
    if (group.cgroup == exit.cgroup && group.name == exit.last.name && group.parent == exit.parent) return group;
  }
  if (groups_.size() == capacity_) {
    keep_largest();
    index_groups();
    return group_of(exit);
  }
  ExitGroup &group = groups_.emplace_back();
  group.name = exit.last.name;
  group.parent = exit.parent;
  group.cgroup = exit.cgroup;
  slots_[at] = static_cast<uint32_t>(groups_.size());
  return group;
}

// Merges all but the largest groups into the group `other`.
void ExitModel::keep_largest() {
  if (groups_.size() <= max_groups_) return;
  const auto kept_end = groups_.begin() + static_cast<std::ptrdiff_t>(max_groups_);
  std::nth_element(groups_.begin(), kept_end, groups_.end(), uses_more);
  for (auto group = kept_end; group != groups_.end(); ++group) {
    other_.exits += group->exits;
    other_.used.add(group->used);
  }
  groups_.erase(kept_end, groups_.end());
}

void ExitModel::index_groups() {
  std::fill(slots_.begin(), slots_.end(), 0);
  const size_t mask = slots_.size() - 1;
  for (size_t i = 0; i < groups_.size(); ++i) {
    size_t at = hash_of(groups_[i].name, groups_[i].parent, groups_[i].cgroup) & mask;
    while (slots_[at] != 0) at = (at + 1) & mask;
    slots_[at] = static_cast<uint32_t>(i + 1);
  }
}

std::span<const ExitGroup> ExitModel::groups() {
  if (!groups_.empty() && groups_.back().other) return groups_;
  keep_largest();
  std::sort(groups_.begin(), groups_.end(), uses_more);
  if (other_.exits > 0) groups_.push_back(other_);
  return groups_;
}

}  // namespace atalaya::proc
