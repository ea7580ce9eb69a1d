// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/trace/stack_lanes.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace atalaya::trace {
namespace {

constexpr int64_t kMinimumParts = 1000;  // minimum share of a drawn frame: 1 / kMinimumParts of the window

using Frames = std::vector<std::string_view>;

Frames frames_of(std::string_view folded) {
  Frames frames;
  for (size_t begin = 0; begin <= folded.size();) {
    const size_t end = std::min(folded.find(';', begin), folded.size());
    frames.push_back(folded.substr(begin, end - begin));
    begin = end + 1;
  }
  return frames;
}

// Sorted stacks with common callers are adjacent.
std::vector<std::pair<Frames, double>> in_order(const std::map<std::string_view, double> &stacks) {
  std::vector<std::pair<Frames, double>> sorted;
  for (const auto &[folded, value] : stacks) sorted.emplace_back(frames_of(folded), value);
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

}  // namespace

bool StackLanes::add(const StackValue &stack) {
  Stacks &stacks = windows_[{kept(stack.process), stack.start_ns, stack.end_ns}];
  const auto [at, is_new] = stacks.try_emplace(kept(stack.folded), 0);
  at->second += stack.value;
  return is_new;
}

std::vector<std::string_view> StackLanes::largest(size_t processes) const {
  std::map<std::string_view, double> sums;
  for (const auto &[window, stacks] : windows_)
    for (const auto &[folded, value] : stacks) sums[std::get<0>(window)] += value;
  std::vector<std::pair<double, std::string_view>> sorted;
  for (const auto &[process, sum] : sums) sorted.emplace_back(-sum, process);
  std::sort(sorted.begin(), sorted.end());
  sorted.resize(std::min(sorted.size(), processes));
  std::vector<std::string_view> names;
  for (const auto &[sum, process] : sorted) names.push_back(process);
  return names;
}

void StackLanes::draw(Timeline &timeline, size_t processes, const Added &added) const {
  const std::vector<std::string_view> names = largest(processes);
  for (const auto &[window, stacks] : windows_)
    if (std::find(names.begin(), names.end(), std::get<0>(window)) != names.end()) draw_window(timeline, window, stacks, added);
}

void StackLanes::draw_window(Timeline &timeline, const Window &window, const Stacks &stacks, const Added &added) const {
  const auto &[process, start, end] = window;
  double sum = 0;
  for (const auto &[folded, value] : stacks) sum += value;
  const std::string lane = "stacks " + profile_;
  std::vector<Slice> drawn{{std::string(process), lane, profile_, start, end, false, {}, {{field_, sum}}}};
  std::vector<size_t> open;  // indices of the open slices in `drawn`, the caller first
  Frames before;
  double passed = 0;
  int64_t at = start;
  const auto close_to = [&](size_t depth) {
    for (; open.size() > depth; open.pop_back()) drawn[open.back()].end_ns = at;
  };
  for (const auto &[frames, value] : in_order(stacks)) {
    const auto common =
        static_cast<size_t>(std::mismatch(before.begin(), before.end(), frames.begin(), frames.end()).first - before.begin());
    close_to(common);
    for (size_t depth = common; depth < frames.size(); ++depth) {
      open.push_back(drawn.size());
      drawn.push_back({std::string(process), lane, std::string(frames[depth]), at, at, false, {}, {}});
    }
    before = frames;
    passed += value;
    at = start + std::min(std::llround(static_cast<double>(end - start) * (passed / sum)), static_cast<long long>(end - start));
  }
  close_to(0);
  std::erase_if(drawn, [&](const Slice &slice) { return (slice.end_ns - slice.start_ns) * kMinimumParts < end - start; });
  added(drawn.size());
  for (Slice &slice : drawn) timeline.add(std::move(slice));
}

}  // namespace atalaya::trace
