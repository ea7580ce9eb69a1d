// SPDX-License-Identifier: Apache-2.0
// Converts readings of processes to rates; it detects started and ended processes, reused pids and decreased counters. It uses
// neither files nor the plugin ABI.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "plugins/shared/host/procfs/process_reading.h"

namespace atalaya::proc {

// One pass over all processes. Its time is that of the window, which all its readings get.
struct Pass {
  int64_t monotonic_ns = 0;
  std::optional<uint64_t> uptime_ns;  // time since boot, on the clock of process start times
  bool baseline = false;              // the pass stores readings but computes no rates
};

using Counters = procfs::Known<procfs::Counter, procfs::kCounters>;
using Rates = procfs::Known<procfs::Counter, procfs::kCounters, double>;  // amounts per second

// Usage between two readings of a process; since its start if `before` is null. A counter is unknown if it decreased (a reset) or
// is missing in one of the readings. The exact CPU time is divided into user and kernel time in the ratio of the ticks of the same
// interval, because the ratio since the start is not monotonic. An interval without ticks is divided in the ratio of `usual`; if
// that is 0 too, it is user time, as in the kernel.
struct CpuTime {
  uint64_t user_ns = 0, kernel_ns = 0;
};
Counters growth_of(const procfs::ProcessReading *before, const procfs::ProcessReading &after, const CpuTime &usual = {});

// The state of a process between passes. Most processes are idle and not in the CPU's caches at a pass, so the members that a pass
// uses for an idle process come first, in one cache line.
struct alignas(64) Process {
  uint64_t pass = 0;            // number of the last pass that included the process
  int64_t first_missed_ns = 0;  // time of the first later pass that did not include it; 0: none
  bool unread = false;          // the last pass only marked the process as idle; `now` is the reading of an earlier pass
  bool is_idle = false;         // unread, and the pass was not a baseline: the rates of all its counters are 0
  bool end_counted = false;     // its end was counted; passes still include it until its parent reaps it
  bool ended_now = false;       // the last pass counted its end: the rates include its last usage
  bool was_zombie = false;      // the first reading was of a zombie; its end, reported later, counts all its usage
  int64_t elapsed_ns = 0;       // interval of the rates: longer than the pass's window if a pass missed the counters
  // Unix times of the idle windows that are not reported yet; 0: none. Set by the caller.
  int64_t idle_from_ns = 0, idle_until_ns = 0;
  procfs::ProcessReading now;
  Rates rates;

  bool ran() const { return rate(procfs::Counter::user_ns) > 0 || rate(procfs::Counter::kernel_ns) > 0; }
  bool has_rate(procfs::Counter counter) const { return is_idle ? now.counters.has(counter) : rates.has(counter); }
  double rate(procfs::Counter counter) const { return is_idle || !rates.has(counter) ? 0 : rates.get(counter); }
};

// Tracks all processes. Readings may come in any order; ascending pids, the order of /proc and of the BPF iterator, cost least.
class ProcessModel {
 public:
  void begin(const Pass &pass);
  // Stores one reading of one process; call it between begin and end.
  void update(const procfs::ProcessReading &read);
  // Replaces update for a process that has not run since its last reading. Returns false when the model has no reading of it.
  bool mark_idle(int32_t pid);
  // Ends the pass: removes the processes that were not in it if their end was counted or is overdue by some seconds.
  void end();

  // Returns the usage of an ended process since its last reading; call it between begin and end. For a process that started and
  // ended between two passes this is its total usage. Nothing if its start is unknown, or before the first pass or a removed
  // process. If this pass has read the process, adds the usage to its rates too.
  std::optional<Counters> usage_since_last_reading(const procfs::ProcessReading &last);
  // Usage of an ended process that started after the last pass, so that no pass included it; call it between passes.
  Counters usage_since_start(const procfs::ProcessReading &last);

  // The processes of the last pass, in the order of update and mark_idle. Valid until the next begin.
  std::span<Process *const> live() const { return live_; }
  // Copies of the processes whose idle time this pass ended, as they were before the pass. Valid until the next begin.
  std::span<const Process> formerly_idle() const { return formerly_idle_; }
  // The live process with this pid; null if there is none.
  const Process *find(int32_t pid) const;
  // The reading of the last process with this pid that is alive or whose end may still be reported; null if there is none.
  const procfs::ProcessReading *last_reading(int32_t pid) const;
  // The reading of the process with this pid and start time: several processes may have had the pid.
  const procfs::ProcessReading *last_reading(int32_t pid, uint64_t start_ns) const;
  // Calls `take` with the readings of all processes that have or had this pid.
  template <class Callback>
  void for_each_reading(int32_t pid, Callback take) const {
    if (const procfs::ProcessReading *last = last_reading(pid)) take(*last);
    for (const Process *process : replaced_)
      if (process->now.pid == pid) take(process->now);
  }
  // Whether this pass included the process.
  bool pass_includes(int32_t pid, uint64_t start_ns) const;
  // CPU time of all live processes in this pass.
  const CpuTime &used() const { return used_; }

 private:
  struct Place {
    int32_t pid;
    Process *process;
  };
  using Places = std::vector<Place>;

  Places::iterator place_of(int32_t pid);
  Process *known(int32_t pid) const;
  Process *known(int32_t pid, uint64_t start_ns) const;
  Process &process_of(const procfs::ProcessReading &reading);
  Process *new_process();
  bool started_since_previous_pass(uint64_t start_ns) const;
  bool lived_between_passes(uint64_t start_ns) const;
  bool may_remove(Process &process);
  void set_rates(Process &process, const procfs::ProcessReading &reading);
  void add_ended_ticks(const procfs::ProcessReading &last);
  void add_last(Process &process, const Counters &growth) const;
  void end_idle(Process &process);
  void update_gauges(Process &process, const procfs::ProcessReading &reading) const;

  std::deque<Process> processes_;  // a deque, because pointers to its elements must stay valid; free_ has the unused ones
  std::vector<Process *> free_;
  Places places_;                    // sorted by pid
  std::vector<Process *> replaced_;  // processes whose pid was reused before their end was reported
  size_t cursor_ = 0;                // index in places_ after the last reading
  std::vector<Process *> live_;
  std::vector<Process> formerly_idle_;
  CpuTime used_;
  CpuTime ended_ticks_;  // sum over all ended processes; most run for less than a tick, so only the sum has a reliable ratio
  Pass now_;
  std::optional<uint64_t> first_uptime_ns_;  // uptime of the first pass after the start or a baseline
  std::optional<Pass> previous_;
  // Latest start time of the processes that were removed without a reported end. An older process may have been in a pass.
  uint64_t forgotten_start_ns_ = 0;
  procfs::ProcessReading reading_;  // working copy of the current reading; a member, to avoid an allocation per process
  uint64_t passes_ = 0;
};

}  // namespace atalaya::proc
