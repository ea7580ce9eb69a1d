// SPDX-License-Identifier: Apache-2.0
// Stacks of windows as nested slices, which the readers of the Trace Event Format draw; its samples and stack frames they do not.
// Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "plugins/commands/trace/timeline.h"

namespace atalaya::trace {

// One stack of a process in a window.
struct StackValue {
  std::string_view process;  // its group of lanes
  int64_t start_ns = 0, end_ns = 0;
  std::string_view folded;  // "main;f;g"
  double value = 0;         // above 0
};

class StackLanes {
 public:
  using Added = std::function<void(size_t)>;

  // The profile and the field that its values are from: "cpu", "profile.samples".
  StackLanes(std::string_view profile, std::string_view field) : profile_(profile), field_(field) {}

  // True: a new stack of the process and window.
  bool add(const StackValue &stack);

  // Draws the processes with the largest sums. A window is a slice of the profile with the sum of its values as argument. In it
  // each frame is as long as its share of that sum; their order is that of their names, because a window does not keep the order in
  // time. Frames with shares of less than 0.1 % are omitted. `added` receives the number of slices before they are kept.
  void draw(Timeline &timeline, size_t processes, const Added &added) const;

 private:
  using Window = std::tuple<std::string_view, int64_t, int64_t>;  // process, start, end
  using Stacks = std::map<std::string_view, double>;

  std::string_view kept(std::string_view text) { return *texts_.emplace(text).first; }
  std::vector<std::string_view> largest(size_t processes) const;
  void draw_window(Timeline &timeline, const Window &window, const Stacks &stacks, const Added &added) const;

  const std::string profile_, field_;
  std::unordered_set<std::string> texts_;
  std::map<Window, Stacks> windows_;
};

}  // namespace atalaya::trace
