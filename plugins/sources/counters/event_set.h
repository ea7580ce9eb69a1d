// SPDX-License-Identifier: Apache-2.0
// Opens the events of a CPU, thread or cgroup in groups, and reads them group by group.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plugins/sources/counters/events.h"
#include "plugins/sources/counters/perf_calls.h"
#include "plugins/sources/counters/pmu.h"
#include "plugins/sources/counters/tally.h"

namespace atalaya::counters {

// Opens events up to a maximum number of descriptors.
class Opener {
 public:
  Opener(PerfCalls &calls, size_t max_events, bool kernel) : calls_(calls), max_events_(max_events), kernel_(kernel) {}
  bool kernel() const { return kernel_; }

  // Returns a descriptor or a negative error number: -EMFILE if the maximum is reached.
  int open(size_t slot, const Scope &scope, uint32_t pmu, int leader);
  void close(int event);
  PerfCalls &calls() { return calls_; }
  size_t count() const { return open_; }

 private:
  PerfCalls &calls_;
  size_t max_events_, open_ = 0;
  bool kernel_;
};

// The descriptor of an open event; the destructor closes it.
class EventFile {
 public:
  EventFile(Opener &opener, int event) : opener_(&opener), event_(event) {}
  EventFile(EventFile &&other) noexcept : opener_(other.opener_), event_(std::exchange(other.event_, -1)) {}
  EventFile &operator=(EventFile &&) = delete;
  ~EventFile() {
    if (event_ >= 0) opener_->close(event_);
  }
  int get() const { return event_; }

 private:
  Opener *opener_;
  int event_;
};

class EventSet {
 public:
  // Opens the events. Returns 0, or an error number; after an error nothing is open. An event that does not fit into its group
  // starts a new group. The next read() covers the time from this call on.
  int open(Opener &opener, const Scope &scope, uint32_t pmu, const Slots &wanted);
  // Adds the counts since the last read() or, for the first one, since open(). `elapsed_ns`: the time since then.
  void read(Opener &opener, int64_t elapsed_ns, Tally &tally);
  const Scope &scope() const { return scope_; }

 private:
  struct Counted {
    size_t slot;
    EventFile file;
    uint64_t last = 0;
  };
  struct Group {
    std::vector<Counted> events;  // the first event leads the group
    uint64_t enabled_ns = 0, running_ns = 0;
  };
  int add(Opener &opener, uint32_t pmu, size_t slot);
  void read(Opener &opener, Group &group, uint64_t max_ns, Tally &tally) const;

  Scope scope_;
  std::vector<Group> groups_;
};

// The selected events that the PMU supports; each was opened alone to find out.
struct Probe {
  Slots counted;
  int error = 0;  // the last error number, except for unsupported events
};
Probe probe(Opener &opener, const Scope &scope, uint32_t pmu, const Slots &wanted);

}  // namespace atalaya::counters
