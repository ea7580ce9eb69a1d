// SPDX-License-Identifier: Apache-2.0
// From readings of processes to rates: identity, births, resets. Knows no files and no ABI.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "plugins/shared/host/procfs/process_reading.h"

namespace atalaya::proc {

// One pass over all processes; the time is just before its first reading.
struct Pass {
  int64_t monotonic_ns = 0;
  std::optional<uint64_t> uptime_ns;  // in the clock of the start times
  bool baseline = false;              // readings are taken, but no rates are made
};

using Counters = procfs::Known<procfs::Counter, procfs::kCounters>;
using Rates = procfs::Known<procfs::Counter, procfs::kCounters, double>;  // amounts per second

// Usage between two readings of a process; without an earlier one, since its birth. A counter that decreased was reset: it is
// unknown, as are counters missing in one of the readings. Exact CPU time is divided by the ticks of the same interval, because
// the division since birth is not monotonic. Without a tick `usual` divides it; without that too it is user time, as in the kernel.
struct CpuTime {
  uint64_t user_ns = 0, kernel_ns = 0;
};
Counters growth_of(const procfs::ProcessReading *before, const procfs::ProcessReading &after, const CpuTime &usual = {});

// Most processes of a host are idle, and their memory is cold in each window: what a pass uses of them is one cache line.
struct alignas(64) Process {
  uint64_t pass = 0;      // the last one that saw it
  int64_t missed_ns = 0;  // time of the first pass after it; 0: there is none
  bool unread = false;    // in that pass there was no reading: nothing has changed since the last one
  bool rested = false;    // nor was it a baseline: the rates of all its counters are 0
  bool ended = false;     // its end was counted; it is still seen until its parent reaps it
  bool ends = false;      // its end was counted in that pass: the rates include its last usage
  bool whole = false;     // it was first seen as a zombie with an end of its own: that counts all its usage
  // Of the windows in which it rested and that are not reported yet, in Unix time; 0: there are none. The caller's.
  int64_t idle_from_ns = 0, idle_until_ns = 0;
  procfs::ProcessReading now;
  Rates rates;

  bool ran() const { return rate(procfs::Counter::user_ns) > 0 || rate(procfs::Counter::kernel_ns) > 0; }
  bool has_rate(procfs::Counter counter) const { return rested ? now.counters.has(counter) : rates.has(counter); }
  double rate(procfs::Counter counter) const { return rested || !rates.has(counter) ? 0 : rates.get(counter); }
};

// Readings come in any order; ascending by pid costs least, as all lists of processes are.
class ProcessModel {
 public:
  void begin(const Pass &pass);
  // One reading of one process, after begin.
  void update(const procfs::ProcessReading &read);
  // Instead of a reading: the process exists and has not run since the last one. False when there was none.
  bool mark_idle(int32_t pid);
  // Forgets processes that were not seen and whose end was counted, or was not reported for some seconds.
  void end();

  // Usage of an ended process since its last reading; call between begin and end. A process that was never seen lived between
  // two passes: all its usage counts. Unknown for a process older than the first pass or than a forgotten one, and for an unknown
  // start. A process that this pass saw gets it into its rates.
  std::optional<Counters> usage_since_last_reading(const procfs::ProcessReading &last);
  // The same of a process that was certainly never seen, because it was born after the last pass; call it outside of passes.
  Counters usage_since_start(const procfs::ProcessReading &last);

  // The processes with a reading, in the order of the readings. Valid until the next begin.
  std::span<Process *const> live() const { return live_; }
  // Processes whose rest ended with this pass, as they were before it. Valid until the next begin.
  std::span<const Process> rested() const { return rested_; }
  // Null for a pid that is not alive.
  const Process *find(int32_t pid) const;
  // Of the last process with that pid which is alive or whose end may still be reported; else null.
  const procfs::ProcessReading *last_reading(int32_t pid) const;
  // Of the one that started then: several processes may have had the pid.
  const procfs::ProcessReading *last_reading(int32_t pid, uint64_t start_ns) const;
  // Calls `take` with the readings of all of them.
  template <class Take>
  void each_reading(int32_t pid, Take take) const {
    if (const procfs::ProcessReading *last = last_reading(pid)) take(*last);
    for (const Process *process : replaced_)
      if (process->now.pid == pid) take(process->now);
  }
  // Whether this pass saw it.
  bool sees(int32_t pid, uint64_t start_ns) const;
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
  bool is_forgotten(Process &process);
  void set_rates(Process &process, const procfs::ProcessReading &reading);
  void add_ended_ticks(const procfs::ProcessReading &last);
  void add_last(Process &process, const Counters &growth) const;
  void end_idle(Process &process);
  void keep_counters(Process &process, const procfs::ProcessReading &reading) const;

  std::deque<Process> processes_;  // never move; forgotten ones are reused
  std::vector<Process *> free_;
  Places places_;                    // by pid
  std::vector<Process *> replaced_;  // their pids have other processes now, and their ends may still be reported
  size_t cursor_ = 0;                // one after the last reading
  std::vector<Process *> live_;
  std::vector<Process> rested_;
  CpuTime used_;
  CpuTime ended_ticks_;  // of all ended processes: most live for less than a tick, so single ones have no reliable ticks
  Pass now_;
  std::optional<uint64_t> first_uptime_ns_;  // from when on every process was seen that lived during a pass
  std::optional<Pass> previous_;
  uint64_t forgotten_start_ns_ =
      0;                         // the last one of processes that were forgotten without an end: an older one may have been seen
  procfs::ProcessReading held_;  // a copy that is changed; it keeps its memory from process to process
  uint64_t passes_ = 0;
};

}  // namespace atalaya::proc
