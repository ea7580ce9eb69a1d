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

auto identity(const ExitGroup &group) {
  return std::tuple(group.name.text(), group.parent.text(), group.cgroup, group.parent_pid);
}

bool uses_more(const ExitGroup &a, const ExitGroup &b) {
  const uint64_t a_ns = a.cpu_ns(), b_ns = b.cpu_ns();
  return a_ns != b_ns ? a_ns > b_ns : identity(a) < identity(b);
}

void merge(ExitGroup &into, const ExitGroup &from) {
  into.exits += from.exits;
  into.used.add(from.used);
}

size_t hash_of(const ExitGroup &group) {
  constexpr size_t kOdd = 0x9e3779b97f4a7c15;
  const std::hash<std::string_view> hash;
  const size_t texts = hash(group.name.text()) * kOdd + hash(group.parent.text());
  return ((texts * kOdd + group.cgroup) * kOdd + static_cast<size_t>(group.parent_pid)) * kOdd >> 32;
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
  ExitGroup wanted;
  wanted.name = exit.last.name;
  wanted.parent = exit.parent;
  wanted.parent_pid = exit.parent_pid;
  wanted.cgroup = exit.cgroup;
  const size_t mask = slots_.size() - 1;
  size_t at = hash_of(wanted) & mask;
  for (; slots_[at] != 0; at = (at + 1) & mask) {
    ExitGroup &group = groups_[slots_[at] - 1];
    if (identity(group) == identity(wanted)) return group;
  }
  if (groups_.size() == capacity_) {
    merge_small_families();
    keep_largest();
    index_groups();
    return group_of(exit);
  }
  groups_.push_back(wanted);
  slots_[at] = static_cast<uint32_t>(groups_.size());
  return groups_.back();
}

// Merges the children of one process with those of others if they used little.
void ExitModel::merge_small_families() {
  const auto is_small = [](const ExitGroup &group) { return group.parent_pid != 0 && group.cpu_ns() < kMinSeparateNs; };
  if (std::none_of(groups_.begin(), groups_.end(), is_small)) return;
  for (ExitGroup &group : groups_)
    if (is_small(group)) group.parent_pid = 0;
  std::sort(groups_.begin(), groups_.end(), [](const auto &a, const auto &b) { return identity(a) < identity(b); });
  size_t kept = 0;
  for (size_t i = 1; i < groups_.size(); ++i) {
    if (identity(groups_[i]) == identity(groups_[kept]))
      merge(groups_[kept], groups_[i]);
    else
      groups_[++kept] = groups_[i];
  }
  groups_.resize(kept + 1);
}

// Merges all but the largest groups into the group `other`.
void ExitModel::keep_largest() {
  if (groups_.size() <= max_groups_) return;
  const auto kept_end = groups_.begin() + static_cast<std::ptrdiff_t>(max_groups_);
  std::nth_element(groups_.begin(), kept_end, groups_.end(), uses_more);
  for (auto group = kept_end; group != groups_.end(); ++group) merge(other_, *group);
  groups_.erase(kept_end, groups_.end());
}

void ExitModel::index_groups() {
  std::fill(slots_.begin(), slots_.end(), 0);
  const size_t mask = slots_.size() - 1;
  for (size_t i = 0; i < groups_.size(); ++i) {
    size_t at = hash_of(groups_[i]) & mask;
    while (slots_[at] != 0) at = (at + 1) & mask;
    slots_[at] = static_cast<uint32_t>(i + 1);
  }
}

std::span<const ExitGroup> ExitModel::groups() {
  if (!groups_.empty() && groups_.back().other) return groups_;
  merge_small_families();
  keep_largest();
  std::sort(groups_.begin(), groups_.end(), uses_more);
  if (other_.exits > 0) groups_.push_back(other_);
  return groups_;
}

}  // namespace atalaya::proc
