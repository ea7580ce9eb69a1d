// SPDX-License-Identifier: Apache-2.0
// From ends of threads to ends of processes. Knows no sockets.
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
  Name name;
  bool named = false;  // else the name is that of a thread: the record of the first thread is missing
  uint64_t elapsed_us = 0;
  int64_t end_s = 0;  // Unix time, rounded down
  Known<Counter, kCounters> counters;
};

// The kernel sums only the CPU time of a process for us; what its threads used otherwise is summed here, from the first record of
// one of them on. It is given only when no record is missing: those of threads that ended before anyone listened, and lost ones.
class ThreadSums {
 public:
  using Take = std::function<void(const ProcessEnd &)>;

  // Of so many processes that have lost threads; of more, those are forgotten whose last record is the oldest.
  explicit ThreadSums(size_t max_processes);

  // A process of one thread is handed on at once.
  void add(const TaskEnd &end, const Take &take);
  // Hands on the other processes that have ended. After all records that are there: that of the last thread may overtake others,
  // as each CPU sends its own.
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
  std::vector<int32_t> pids_;  // beside the sums: these are searched
  std::vector<Sum> sums_;
};

}  // namespace atalaya::proc
