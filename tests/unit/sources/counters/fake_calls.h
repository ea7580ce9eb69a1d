// SPDX-License-Identifier: Apache-2.0
// A kernel whose counters the test sets: the count of each scope so far, and how long it was enabled and running.
#pragma once

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "plugins/sources/counters/events.h"
#include "plugins/sources/counters/perf_calls.h"

namespace atalaya::counters::test {

class FakeCalls final : public PerfCalls {
 public:
  struct Counted {
    uint64_t enabled_ns = 0, running_ns = 0;
    std::map<size_t, uint64_t> counts;  // by slot; one that is not here has counted nothing
  };

  int open(const perf_event_attr &attributes, const Scope &scope, int leader) override {
    if (denied != 0) return -denied;
    if (gone.contains(scope.pid) && !scope.cgroup) return -ESRCH;
    if (offline.contains(scope.cpu)) return -ENODEV;
    if (is_lacking(attributes)) return -ENOENT;
    if (leader >= 0 && members(leader).size() >= group_size) return -EINVAL;
    if (events.size() >= max_open) return -EMFILE;
    events[next_] = {attributes, scope, leader};
    return next_++;
  }

  ssize_t read(int event, std::span<uint64_t> words) override {
    if (broken) return 0;
    const std::vector<int> group = members(event);
    const Counted &counted = at(events.at(event).scope);
    words[0] = group.size();
    words[1] = counted.enabled_ns;
    words[2] = counted.running_ns;
    for (size_t i = 0; i < group.size() && 3 + i < words.size(); ++i) words[3 + i] = count_of(events.at(group[i]), counted);
    return static_cast<ssize_t>(std::min(words.size(), 3 + group.size()));
  }
  void close(int event) override { events.erase(event); }

  Counted &at(const Scope &scope) { return counted_[{scope.cgroup ? 0 : scope.pid, scope.cpu}]; }
  void lacks(size_t slot) { lacking.insert({kEvents[slot].type, kEvents[slot].config}); }
  size_t open_at(const Scope &scope) const {
    return static_cast<size_t>(std::count_if(events.begin(), events.end(), [&](const auto &item) {
      return item.second.scope.pid == scope.pid && item.second.scope.cpu == scope.cpu;
    }));
  }

  struct Opened {
    perf_event_attr attributes;
    Scope scope;
    int leader;
  };
  std::map<int, Opened> events;
  std::set<std::pair<uint32_t, uint64_t>> lacking;
  std::set<int> gone, offline;
  size_t group_size = 6, max_open = 100000;
  int denied = 0;
  bool broken = false;

 private:
  static constexpr uint64_t kConfig = 0xffffffff;  // above it the number of the unit

  bool is_lacking(const perf_event_attr &attributes) const {
    return lacking.contains({attributes.type, attributes.config & kConfig});
  }
  // In the order in which they were opened, as the kernel returns them.
  std::vector<int> members(int leader) const {
    std::vector<int> group;
    for (const auto &[event, opened] : events)
      if (event == leader || opened.leader == leader) group.push_back(event);
    return group;
  }
  // Slots of the same event have the same count: the first of them is read.
  static uint64_t count_of(const Opened &opened, const Counted &counted) {
    for (size_t slot = 0; slot < kSlots; ++slot)
      if (kEvents[slot].type == opened.attributes.type && kEvents[slot].config == (opened.attributes.config & kConfig))
        if (const auto found = counted.counts.find(slot); found != counted.counts.end()) return found->second;
    return 0;
  }

  std::map<std::pair<int, int>, Counted> counted_;
  int next_ = 100;
};

}  // namespace atalaya::counters::test
