// SPDX-License-Identifier: Apache-2.0
// Combines the records of ended threads to ends of processes. It uses no sockets.
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
  bool named = false;     // false: the record of the main thread is missing, and `name` is that of another thread
  bool threaded = false;  // the process had several threads
  uint64_t elapsed_us = 0;
  int64_t end_s = 0;  // Unix time, rounded down
  procfs::Known<procfs::Counter, procfs::kCounters> counters;
};

// Sums the usage of the ended threads of each process, because the kernel sums only their CPU time.
// Usage other than CPU time is reported only if the records of all threads arrived: none was lost, and no thread ended before the
// start of the agent.
class ThreadSums {
 public:
  using Callback = std::function<void(const ProcessEnd &)>;

  // `max_processes`: running processes with ended threads; beyond it, the process with the oldest last record is removed.
  explicit ThreadSums(size_t max_processes);

  // Calls `take` immediately if the process had one thread only.
  void add(const TaskEnd &end, const Callback &take);
  // Calls `take` for the ended processes with several threads. Call it after all available records are added: each CPU sends its
  // own records, so the record of the last thread may arrive before those of other threads.
  void finish(const Callback &take);
  size_t size() const { return pids_.size(); }

 private:
  struct Sum {
    ProcessEnd process;
    int64_t start_s = 0;
    uint64_t order = 0;  // sequence number of its last record
    TaskCpu cpu;
    std::optional<ThreadsTotal> total;  // set when the process has ended
  };

  Sum &sum_of(const TaskEnd &end, const Callback &take);
  size_t index_of(int32_t pid) const;
  void remove(size_t index, const Callback &take);

  size_t max_processes_;
  uint64_t order_ = 0;
  size_t ended_ = 0;
  std::vector<int32_t> pids_;  // parallel to the sums, for searches
  std::vector<Sum> sums_;
};

}  // namespace atalaya::proc
