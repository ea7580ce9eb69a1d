// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/names/resolve/known_processes.h"

#include <algorithm>
#include <utility>

namespace atalaya::names {
namespace {

constexpr size_t kSteps = 8;  // maximum steps of the linear search; beyond it binary search is faster

bool before(const KnownProcess &process, int32_t pid) {
  return process.pid < pid;
}
bool ascending(const KnownProcess &a, const KnownProcess &b) {
  return a.pid < b.pid;
}

}  // namespace

KnownProcess *KnownProcesses::find(int32_t pid) {
  if (pid < last_pid_) cursor_ = 0;
  last_pid_ = pid;
  const size_t near = std::min(cursor_ + kSteps, sorted_.size());
  while (cursor_ < near && before(sorted_[cursor_], pid)) ++cursor_;
  if (cursor_ == near) {
    const auto from = sorted_.begin() + static_cast<ptrdiff_t>(cursor_);
    cursor_ = static_cast<size_t>(std::lower_bound(from, sorted_.end(), pid, before) - sorted_.begin());
  }
  if (cursor_ < sorted_.size() && sorted_[cursor_].pid == pid) return &sorted_[cursor_];
  if (!added_.empty() && added_.back().pid == pid) return &added_.back();
  return nullptr;
}

KnownProcess *KnownProcesses::add(int32_t pid) {
  if (size() >= capacity_) return nullptr;
  added_.emplace_back().pid = pid;
  return &added_.back();
}

void KnownProcesses::settle() {
  if (added_.empty()) return;
  std::sort(added_.begin(), added_.end(), ascending);
  // Merges from the end, which needs no extra memory.
  size_t left = sorted_.size();
  sorted_.resize(sorted_.size() + added_.size());
  for (size_t to = sorted_.size(); !added_.empty();) {
    if (left > 0 && ascending(added_.back(), sorted_[left - 1])) {
      sorted_[--to] = std::move(sorted_[--left]);
    } else {
      sorted_[--to] = std::move(added_.back());
      added_.pop_back();
    }
  }
  // Removes duplicates: a process may have been added twice if samples were not in order.
  sorted_.erase(std::unique(sorted_.begin(), sorted_.end(), [](const auto &a, const auto &b) { return a.pid == b.pid; }),
                sorted_.end());
  cursor_ = 0;
  last_pid_ = 0;
}

void KnownProcesses::forget(uint32_t window) {
  std::erase_if(sorted_, [window](const KnownProcess &process) { return process.seen < window; });
  cursor_ = 0;
  last_pid_ = 0;
}

}  // namespace atalaya::names
