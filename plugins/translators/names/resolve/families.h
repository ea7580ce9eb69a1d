// SPDX-License-Identifier: Apache-2.0
// The processes whose children inherit tags, by pid. Children that start no program are read only if they belong to one of them,
// because a host may fork thousands of processes per second. A pid that has another process now costs a question, and no tag.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_set>

#include "plugins/shared/host/procfs/start_events.h"

namespace atalaya::names {

// For several threads.
class Families {
 public:
  explicit Families(size_t capacity) : capacity_(capacity) {}

  void add(int32_t pid) {
    const std::lock_guard lock(mutex_);
    insert(pid);
  }
  // Whether the process belongs to a family; the child of a member is a member.
  bool has(const procfs::StartEvent &event) {
    const std::lock_guard lock(mutex_);
    if (event.parent == 0) return pids_.contains(event.process);
    if (!pids_.contains(event.parent)) return false;
    insert(event.process);
    return true;
  }
  // Removes the members for which `wanted` is false.
  template <class Wanted>
  void keep(Wanted wanted) {
    const std::lock_guard lock(mutex_);
    std::erase_if(pids_, [&](int32_t pid) { return !wanted(pid); });
  }

 private:
  void insert(int32_t pid) {
    if (pids_.size() < capacity_) pids_.insert(pid);
  }

  size_t capacity_;
  std::mutex mutex_;
  std::unordered_set<int32_t> pids_;
};

}  // namespace atalaya::names
