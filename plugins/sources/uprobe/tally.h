// SPDX-License-Identifier: Apache-2.0
// What regions cost in a window, and runs as spans that a store can tell apart.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "bpf/uprobe.h"
#include "plugins/shared/match/matcher.h"

namespace atalaya::uprobe {

// A text that ends at its first NUL, or fills the array.
std::string_view text_of(const char (&comm)[UPROBE_COMM]);

// In a window. runs = those told + brief + dropped, but for those that ended while the window did.
struct Cost {
  int64_t runs = 0, time_ns = 0, brief = 0, dropped = 0, nested = 0, orphans = 0, missed = 0;
};

class Tally {
 public:
  Tally(size_t regions, core::MatcherList processes) : processes_(std::move(processes)), costs_(regions) {}

  bool wants(std::string_view process) const { return processes_.empty() || processes_.matches(process); }
  bool by_name() const { return !processes_.empty(); }

  void begin_window();
  // Counts since the start, as the kernel has them. False: its runs are not wanted.
  bool add(const uprobe_who &who, const uprobe_counts &counts);
  // Runs that the kernel told, and that were lost on their way.
  void lose(size_t region, uint64_t runs);
  const Cost &cost(size_t region) const { return costs_[region]; }

  // When the run began, as its span says it: two threads of a process may enter a region in the same nanosecond, and a store takes
  // spans with the same begin and tags for one. Then the later of them begins a nanosecond later.
  uint64_t begin_of(const uprobe_run &run);

 private:
  struct Begin {
    uint64_t ns;
    uint32_t region, pid;
    bool operator==(const Begin &) const = default;
  };
  struct Hash {
    size_t operator()(const Begin &begin) const { return (begin.ns * 31 + begin.region) * 0x9e3779b97f4a7c15 + begin.pid; }
  };
  using Begins = std::unordered_set<Begin, Hash>;

  core::MatcherList processes_;
  std::vector<Cost> costs_;
  std::map<std::pair<uint32_t, std::string>, uprobe_counts> before_;
  Begins begins_, begins_before_;  // of this window, and of the one before
};

}  // namespace atalaya::uprobe
