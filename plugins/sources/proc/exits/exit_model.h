// SPDX-License-Identifier: Apache-2.0
// Sums the usage of processes that ended in a window by name, parent and cgroup: on a busy host hundreds end every second. Children
// of one process that together used half a second of CPU time can have a sum of their own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plugins/sources/proc/exits/exit_reading.h"
#include "plugins/sources/proc/process/process_model.h"

namespace atalaya::proc {

// CPU time from which ended processes have a separate series.
constexpr uint64_t kMinSeparateNs = 500'000'000;

// The ended processes of one name, parent and cgroup.
struct ExitGroup {
  procfs::Name name, parent;
  int32_t parent_pid = 0;  // 0: of several parents
  uint64_t cgroup = 0;
  bool other = false;  // the sum of all groups beyond the maximum; it has no name, parent and cgroup
  uint64_t exits = 0;
  Counters used;  // usage since their last readings; each counter is summed over the processes for which it is known

  uint64_t cpu_ns() const;
};

// A window has at most `max_groups` groups, those with the most CPU time, and one group for the rest. All sums are exact.
// The constructor allocates all memory.
class ExitModel {
 public:
  explicit ExitModel(size_t max_groups);

  void begin();
  // Adds an ended process. `used`: its usage since the last reading (ProcessModel::usage_since_last_reading). The children of a
  // process with a `parent_pid` are a separate group if they used enough.
  void add(const ExitReading &exit, const Counters &used);
  // Ends the window and returns its groups in descending order of CPU time, the group `other` last; ties are broken by identity.
  // The result is valid until begin.
  std::span<const ExitGroup> groups();

 private:
  ExitGroup &group_of(const ExitReading &exit);
  void merge_small_families();
  void keep_largest();
  void index_groups();

  size_t max_groups_;
  size_t capacity_;
  std::vector<ExitGroup> groups_;
  std::vector<uint32_t> slots_;  // 1 + index of a group, by hash; 0: free
  ExitGroup other_;
};

}  // namespace atalaya::proc
