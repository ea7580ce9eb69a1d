// SPDX-License-Identifier: Apache-2.0
// From ends of threads to ends of processes. Independent of sockets.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "plugins/sources/proc/exits/taskstats_reader.h"

namespace atalaya::proc {

struct ProcessEnd {
  int32_t pid = 0;
  int32_t parent = 0;
  bool kernel_thread = false;
  procfs::Name name;
  bool named = false;     // else the name is that of a thread: the record of the first thread is missing
  bool threaded = false;  // it had several threads
  uint64_t elapsed_us = 0;
  int64_t end_s = 0;  // Unix time, rounded down
  procfs::Known<procfs::Counter, procfs::kCounters> counters;
};

// The kernel sums only the CPU time of a process; other usage of its threads is summed here, from the first record of a thread on.
// The sum is reported only if no record is missing: records are missing for threads that ended before the start, and lost ones.
class ThreadSums {
 public:
  using Take = std::function<void(const ProcessEnd &)>;

  // Maximum number of running processes with ended threads; beyond it, those with the oldest last record are forgotten.
  explicit ThreadSums(size_t max_processes);

  // A process with one thread is passed on at once.
  void add(const TaskEnd &end, const Take &take);
  // Passes on the other ended processes. Call it after all available records: that of the last thread may overtake others, because
  // each CPU sends separately.
  void finish(const Take &take);
  size_t size() const { return pids_.size(); }

 private:
  struct Sum {
    ProcessEnd process;
    int64_t start_s = 0;
    uint64_t order = 0;  // of its last record
    TaskCpu cpu;
    std::optional<ThreadsTotal> total;  // when the process has ended
  };

  Sum &sum_of(const TaskEnd &end, const Take &take);
  size_t index_of(int32_t pid) const;
  void remove(size_t index, const Take &take);

  size_t max_processes_;
  uint64_t order_ = 0;
  size_t ended_ = 0;
  std::vector<int32_t> pids_;  // parallel to the sums, for searches
  std::vector<Sum> sums_;
};

}  // namespace atalaya::proc
