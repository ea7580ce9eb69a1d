// SPDX-License-Identifier: Apache-2.0
// Sums the counts of runs per region and window, and makes the start times of spans distinct.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "bpf/uprobe.h"
#include "plugins/shared/io/match/matcher.h"

namespace atalaya::uprobe {

// The text up to the first NUL, or the complete array if it has none.
std::string_view text_of(const char (&comm)[UPROBE_COMM]);

// The counts of one region in one window. Invariant: runs = reported + brief + dropped, except for runs that end while the window
// ends.
struct Cost {
  int64_t runs = 0, time_ns = 0, brief = 0, dropped = 0, nested = 0, orphans = 0, missed = 0;
};

class Tally {
 public:
  Tally(size_t regions, io::MatcherList processes) : processes_(std::move(processes)), costs_(regions) {}

  bool wants(std::string_view process) const { return processes_.empty() || processes_.matches(process); }
  bool by_name() const { return !processes_.empty(); }

  void begin_window();
  // Updates the window with the kernel's counts since the start. False: the filter excludes this process name.
  bool add(const uprobe_key &key, const uprobe_counts &counts);
  // Adds runs that the kernel reported and that the agent dropped.
  void add_lost(size_t region, uint64_t runs);
  const Cost &cost(size_t region) const { return costs_[region]; }

  // Returns the start time of the run's span. If another run of the process entered the region in the same nanosecond, the span
  // starts one nanosecond later, because a store merges spans with the same start and tags.
  uint64_t start_of(const uprobe_run &run);

 private:
  struct RunStart {
    uint64_t ns;
    uint32_t region, pid;
    bool operator==(const RunStart &) const = default;
  };
  struct Hash {
    size_t operator()(const RunStart &start) const { return (start.ns * 31 + start.region) * 0x9e3779b97f4a7c15 + start.pid; }
  };
  using RunStarts = std::unordered_set<RunStart, Hash>;

  io::MatcherList processes_;
  std::vector<Cost> costs_;
  std::map<std::pair<uint32_t, std::string>, uprobe_counts> previous_;
  RunStarts starts_, previous_starts_;  // start times of this window and of the previous one
};

}  // namespace atalaya::uprobe
