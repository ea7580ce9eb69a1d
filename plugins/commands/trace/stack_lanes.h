// SPDX-License-Identifier: Apache-2.0
// Converts stacks of windows to nested slices of the Trace Event Format, because its viewers draw slices but not the stack samples
// of the format. Pure.
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
  std::string_view process;  // name of the group of lanes
  int64_t start_ns = 0, end_ns = 0;
  std::string_view folded;  // folded stack, such as "main;f;g"
  double value = 0;         // must be above 0
};

class StackLanes {
 public:
  using Added = std::function<void(size_t)>;

  // `profile`: name of the profile, such as "cpu"; `field`: name of the field of its values, such as "profile.samples".
  StackLanes(std::string_view profile, std::string_view field) : profile_(profile), field_(field) {}

  // Adds a value. Returns true if the stack is new for the process and window.
  bool add(const StackValue &stack);

  // Draws the processes with the largest sums. A window is one slice with the sum of its values as argument. It contains a slice
  // per frame, whose length is the frame's share of the sum; frames are in alphabetical order, because a window does not store
  // their order in time. Frames with a share of less than 0.1 % are omitted. `added` is called with the number of slices before
  // they are added to the timeline, and may throw.
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
