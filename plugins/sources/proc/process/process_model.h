// SPDX-License-Identifier: Apache-2.0
// From readings of processes to rates: identity, births, resets. Knows no files and no ABI.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "plugins/shared/procfs/process_reading.h"

namespace atalaya::proc {

// One look at all processes, as of just before its first reading.
struct Pass {
  int64_t monotonic_ns = 0;
  std::optional<uint64_t> uptime_ns;  // in the clock of the start times
  bool baseline = false;              // readings are taken, but no rates are made
};

using Counters = Known<Counter, kCounters>;
using Rates = Known<Counter, kCounters, double>;  // amounts per second

// What was used between two readings of a process; without an earlier one since its birth. A counter that went down was reset: it
// is unknown, as are those that one of the readings lacks. CPU time that is known exactly is divided by the ticks of the same time:
// the division of the whole since birth is not monotonic.
// Without a tick at all `usual` divides it; without that too it was user time, as the kernel itself has it.
struct CpuTime {
  uint64_t user_ns = 0, kernel_ns = 0;
};
Counters growth_of(const ProcessReading *before, const ProcessReading &after, const CpuTime &usual = {});

// Most processes of a host rest, and once a window all of this is cold memory: what is asked of them comes first.
struct Process {
  uint64_t pass = 0;  // the last one that it was seen in, and when that was
  int64_t seen_ns = 0;
  bool unread = false;  // in that pass there was no reading: nothing has changed since the last one
  bool rested = false;  // nor was it a baseline: the rates of all its counters are 0
  ProcessReading now;
  Rates rates;

  bool ran() const { return rate(Counter::user_ns) > 0 || rate(Counter::kernel_ns) > 0; }
  bool has_rate(Counter counter) const { return rested ? now.counters.has(counter) : rates.has(counter); }
  double rate(Counter counter) const { return rested || !rates.has(counter) ? 0 : rates.get(counter); }
};

// Readings come in any order; ascending by pid costs least, as all lists of processes are.
class ProcessModel {
 public:
  void begin(const Pass &pass);
  // One reading of one process, after begin.
  void update(const ProcessReading &reading);
  // In place of a reading: the process is there and has not run since the last one. False when there was none.
  bool rests(int32_t pid);
  // Forgets the processes that have not been seen for some seconds: until then their ends may still be told.
  void end();

  // What a process that has ended used since its last reading, between begin and end. One that was never seen lived between two
  // passes and counts whole. Unknown for one that was there before the first pass, and for a start that is unknown.
  std::optional<Counters> last_growth(const ProcessReading &last);

  // Those that had a reading, in the order of the readings. Valid until the next begin.
  std::span<const Process *const> live() const { return live_; }
  // Null for a pid that is not live.
  const Process *find(int32_t pid) const;
  // Of one that is live or was some seconds ago; else null.
  const ProcessReading *last_reading(int32_t pid) const;
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
  Process &process_of(int32_t pid);
  bool born_since_previous_pass(uint64_t start_ns) const;
  bool lived_between_passes(uint64_t start_ns) const;
  void set_rates(Process &process, const ProcessReading &reading);
  void keep_counters(Process &process, const ProcessReading &reading) const;

  std::deque<Process> processes_;  // never move; the forgotten ones are used again
  std::vector<Process *> free_;
  Places places_;      // by pid
  size_t cursor_ = 0;  // behind the place of the last reading
  std::vector<const Process *> live_;
  CpuTime used_;
  CpuTime ended_ticks_;  // of all that ended: most live for less than a tick, and ticks fall on them by chance
  Pass now_;
  std::optional<uint64_t> first_uptime_ns_;  // from when on every process was seen that lived during a pass
  std::optional<Pass> previous_;
  uint64_t passes_ = 0;
};

}  // namespace atalaya::proc
