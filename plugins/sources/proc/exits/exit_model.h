// SPDX-License-Identifier: Apache-2.0
// Processes that ended within a window, summed by who they were: on a busy host hundreds end every second.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plugins/sources/proc/exits/exit_reading.h"
#include "plugins/sources/proc/process/process_model.h"

namespace atalaya::proc {

// The processes of one name, parent and cgroup that ended.
struct ExitGroup {
  Name name, parent;
  uint64_t cgroup = 0;
  bool other = false;  // all that have no group of their own; without name, parent and cgroup
  uint64_t exits = 0;
  Counters used;  // since their last readings: of each counter the sum of those that know it

  uint64_t cpu_ns() const;
};

// A window has at most `max_groups` groups, those that used the most CPU, and one for all others. All sums are exact.
// Nothing is allocated after the construction.
class ExitModel {
 public:
  explicit ExitModel(size_t max_groups);

  void begin();
  // `used` is what it used since its last reading, of each counter that is known (ProcessModel::last_growth).
  void add(const ExitReading &exit, const Counters &used);
  // By CPU, the most first, the group of all others last; the same sums give the same order. Ends the window: valid until begin.
  std::span<const ExitGroup> groups();

 private:
  ExitGroup &group_of(const ExitReading &exit);
  void keep_largest();
  void index_groups();

  size_t max_groups_;
  size_t capacity_;
  std::vector<ExitGroup> groups_;
  std::vector<uint32_t> slots_;  // 1 + index of a group, by hash; 0: free
  ExitGroup other_;
};

}  // namespace atalaya::proc
