// SPDX-License-Identifier: Apache-2.0
// From readings of processes to rates: identity, births, resets. Knows no files and no ABI.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "plugins/sources/proc/process_reading.h"

namespace atalaya::proc {

// One look at all processes, as of just before its first reading.
struct Pass {
  int64_t monotonic_ns = 0;
  std::optional<uint64_t> uptime_ns;  // in the clock of the start times
  bool baseline = false;              // readings are taken, but no rates are made
};

using Rates = Known<Counter, kCounters, double>;  // amounts per second

struct Process {
  ProcessReading now;
  Rates rates;
  uint64_t pass = 0;  // the last one that it was seen in
};

class ProcessModel {
 public:
  void begin(const Pass &pass);
  // One reading of one process, after begin.
  void update(const ProcessReading &reading);
  // Forgets the processes that had no reading since begin.
  void end();

  // Those that had one, in the order of the readings. Valid until the next begin.
  std::span<const Process *const> live() const { return live_; }
  // Null for a pid that is not live.
  const Process *find(int32_t pid) const;

 private:
  Rates rates_since_previous(const Process &before, const ProcessReading &reading) const;

  std::unordered_map<int32_t, Process> processes_;
  std::vector<const Process *> live_;
  Pass now_;
  std::optional<Pass> previous_;
  uint64_t passes_ = 0;
};

}  // namespace atalaya::proc
