// SPDX-License-Identifier: Apache-2.0
// Sums over processes that ended within a window, by identity: on a busy host hundreds end every second.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plugins/sources/proc/exits/exit_reading.h"
#include "plugins/sources/proc/process/process_model.h"

namespace atalaya::proc {

// The processes of one name, parent and cgroup that ended.
struct ExitGroup {
  procfs::Name name, parent;
  uint64_t cgroup = 0;
  bool other = false;  // all processes without a separate group; no name, parent and cgroup
  uint64_t exits = 0;
  Counters used;  // since their last readings: each counter is summed over the processes that have it

  uint64_t cpu_ns() const;
};

// A window has at most `max_groups` groups, those with the most CPU time, and one for all others. All sums are exact.
// Nothing is allocated after construction.
class ExitModel {
 public:
  explicit ExitModel(size_t max_groups);

  void begin();
  // `used`: usage since the last reading, of each known counter (ProcessModel::usage_since_last_reading).
  void add(const ExitReading &exit, const Counters &used);
  // In descending order of CPU time, the group of all others last; the order is deterministic. Ends the window: valid until begin.
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
