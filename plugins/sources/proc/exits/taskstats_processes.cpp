// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/exits/taskstats_processes.h"

#include <algorithm>
#include <cstdlib>

namespace atalaya::proc {
namespace {

// Two ends of one process have equal start times to within the rounding of both to seconds.
constexpr int64_t kStartTolerance_s = 2;

int64_t start_of(const TaskEnd &end) {
  return end.end_s - static_cast<int64_t>(end.process_elapsed_us / kMicrosecondsPerSecond);
}

void add_cpu(TaskCpu &sum, const TaskCpu &cpu) {
  sum.exec_ns += cpu.exec_ns;
  sum.user_us += cpu.user_us;
  sum.kernel_us += cpu.kernel_us;
}

void describe(ProcessEnd &process, const TaskEnd &end) {
  process.pid = end.process;
  process.parent = end.parent;
  process.kernel_thread = end.kernel_thread;
  process.elapsed_us = end.process_elapsed_us;
  process.end_s = end.end_s;
  if (process.named) return;
  process.name = end.name;
  process.named = end.pid == end.process;
}

}  // namespace

ThreadSums::ThreadSums(size_t max_processes) : max_processes_(std::max<size_t>(max_processes, 1)) {
  pids_.reserve(max_processes_);
  sums_.reserve(max_processes_);
}

void ThreadSums::add(const TaskEnd &end, const Callback &take) {
  if (end.process == 0) return;  // before version 12 this may be a process, or a thread of one
  if (end.last && !end.total) {
    ProcessEnd process;
    describe(process, end);
    process.counters = end.counters;
    set_cpu(end.cpu, process.kernel_thread, process.counters);
    take(process);
    return;
  }
  Sum &sum = sum_of(end, take);
  sum.process.threaded = true;
  describe(sum.process, end);
  add_cpu(sum.cpu, end.cpu);
  sum.process.counters.add(end.counters);
  if (!end.last || sum.total) return;
  sum.total = end.total;
  ++ended_;
}

void ThreadSums::finish(const Callback &take) {
  for (size_t i = sums_.size(); ended_ > 0 && i-- > 0;)
    if (sums_[i].total) remove(i, take);
}

ThreadSums::Sum &ThreadSums::sum_of(const TaskEnd &end, const Callback &take) {
  const int64_t start_s = start_of(end);
  size_t index = index_of(end.process);
  // If the start differs, the pid belongs to another process now, and the last record of the old process was lost.
  if (index < pids_.size() && std::abs(sums_[index].start_s - start_s) > kStartTolerance_s) {
    remove(index, take);
    index = pids_.size();
  }
  if (index == pids_.size()) {
    if (pids_.size() == max_processes_) {
      const auto earlier = [](const Sum &a, const Sum &b) { return a.order < b.order; };
      remove(static_cast<size_t>(std::min_element(sums_.begin(), sums_.end(), earlier) - sums_.begin()), take);
    }
    index = pids_.size();
    pids_.push_back(end.process);
    sums_.emplace_back().start_s = start_s;
  }
  sums_[index].order = ++order_;
  return sums_[index];
}

size_t ThreadSums::index_of(int32_t pid) const {
  return static_cast<size_t>(std::find(pids_.begin(), pids_.end(), pid) - pids_.begin());
}

// Reports the process to `take` if it has ended, and removes it.
void ThreadSums::remove(size_t index, const Callback &take) {
  Sum &sum = sums_[index];
  if (sum.total) {
    // The kernel sums a thread's time just before it creates the thread's record: the records of the same threads sum to no less.
    if (sum.cpu.exec_ns < sum.total->exec_ns) sum.process.counters = {};
    if (sum.total->delay_ns) sum.process.counters.set(procfs::Counter::delay_ns, *sum.total->delay_ns);
    sum.cpu.exec_ns = std::max(sum.cpu.exec_ns, sum.total->exec_ns);
    set_cpu(sum.cpu, sum.process.kernel_thread, sum.process.counters);
    --ended_;
    take(sum.process);
  }
  pids_[index] = pids_.back();
  sums_[index] = sums_.back();
  pids_.pop_back();
  sums_.pop_back();
}

}  // namespace atalaya::proc
