// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/jvm/stack_tree.h"

#include <algorithm>
#include <numeric>

namespace atalaya::jvm {
namespace {

uint64_t key_of(uint32_t parent, uint32_t frame) {
  return uint64_t{parent} << 32 | frame;
}

// Between frames is ';', and a line ends a trace's frame.
void append_name(std::string &text, std::string_view name) {
  for (const char byte : name) text += byte == ';' ? ':' : static_cast<unsigned char>(byte) < ' ' ? ' ' : byte;
}

// A native method's file is not told: a class lies in the file that is called like the outermost class around it.
std::string place_of(const Frame &frame) {
  std::string place(frame.file);
  if (place.empty() && frame.line == -2) {
    const std::string_view simple = frame.type.substr(frame.type.rfind('.') + 1);
    place = std::string(simple.substr(0, simple.find('$'))) + ".java";
  }
  return place.empty() ? "Unknown Source" : place + ":" + std::to_string(frame.line);
}

void append_line(std::string &text, const Frame &frame) {
  append_name(text, frame.type);
  text += ' ';
  append_name(text, frame.method);
  text += " (";
  append_name(text, place_of(frame));
  text += ')';
}

// "java.lang.System identityHashCode" is told with a dot here, as in profiles of perf.
std::string stack_text(const std::vector<uint32_t> &path, const std::vector<std::string> &names) {
  std::string text;
  for (size_t i = path.size(); i-- > 0;) {
    std::string name = names[path[i]];
    name[name.find(' ')] = '.';
    text += name + "_[j]" + (i > 0 ? ";" : "");
  }
  return text;
}

// The first `most` of the order are the largest; those alike as they came.
template <class Larger>
std::vector<uint32_t> largest(size_t count, size_t most, Larger larger) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  const auto middle = order.begin() + static_cast<ptrdiff_t>(std::min(most, count));
  std::partial_sort(order.begin(), middle, order.end(),
                    [&](uint32_t a, uint32_t b) { return larger(a, b) || (!larger(b, a) && a < b); });
  return order;
}

}  // namespace

uint32_t StackTree::frame_of(std::string_view line) {
  const auto known = known_.find(line);
  if (known != known_.end()) return known->second;
  if (frames_.size() >= limits_.frames || line.size() > limits_.frame_bytes || !parse_frame(line)) return kNone;
  const auto added = known_.emplace(line, static_cast<uint32_t>(frames_.size())).first;
  frames_.push_back(*parse_frame(added->first));
  return added->second;
}

uint32_t StackTree::child_of(uint32_t parent, uint32_t frame) {
  const auto known = children_.find(key_of(parent, frame));
  if (known != children_.end()) return known->second;
  if (nodes_.size() >= limits_.nodes) return kNone;
  const auto node = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back({parent, frame, {}, {}});
  children_.emplace(key_of(parent, frame), node);
  return node;
}

void StackTree::lose(const Time &on_cpu, const Time &wall) {
  lost_ += std::max(on_cpu.samples, wall.samples);
  lost_on_cpu_.add(on_cpu);
  lost_wall_.add(wall);
}

void StackTree::add(std::span<const std::string_view> frames, const Time &on_cpu, const Time &wall) {
  on_cpu_.add(on_cpu);
  uint32_t node = kNone;
  for (size_t i = frames.size(); i-- > 0;) {
    const uint32_t frame = frame_of(frames[i]);
    node = frame == kNone ? kNone : child_of(node, frame);
    if (node == kNone) return lose(on_cpu, wall);
  }
  if (node == kNone) return;
  nodes_[node].on_cpu.add(on_cpu);
  nodes_[node].wall.add(wall);
}

// Frames are lines of functions.
std::vector<uint32_t> StackTree::function_of_frames(std::vector<std::string> &names) const {
  std::vector<uint32_t> functions;
  functions.reserve(frames_.size());
  std::unordered_map<std::string, uint32_t> known;
  for (const Frame &frame : frames_) {
    std::string name;
    append_name(name, frame.type);
    name += ' ';
    append_name(name, frame.method);
    const auto found = known.try_emplace(name, static_cast<uint32_t>(names.size())).first;
    if (found->second == names.size()) names.push_back(std::move(name));
    functions.push_back(found->second);
  }
  return functions;
}

// The innermost first.
std::vector<uint32_t> StackTree::path_to(uint32_t node) const {
  std::vector<uint32_t> path;
  for (; node != kNone; node = nodes_[node].parent) path.push_back(nodes_[node].frame);
  return path;
}

FunctionTime StackTree::function_time(const std::string &name, const Time &self, uint32_t exemplar) const {
  FunctionTime function{.name = name, .self = self, .trace = {}, .stack = {}};
  const std::vector<uint32_t> path = path_to(exemplar);
  for (const uint32_t frame : path) {
    if (!function.trace.empty()) function.trace += '\n';
    append_line(function.trace, frames_[frame]);
  }
  for (size_t i = path.size(); i-- > 0;) {
    append_line(function.stack, frames_[path[i]]);
    if (i > 0) function.stack += ';';
  }
  return function;
}

std::vector<FunctionTime> StackTree::functions(size_t most) const {
  std::vector<std::string> names;
  const std::vector<uint32_t> function_of = function_of_frames(names);
  std::vector<Time> self(names.size());
  std::vector<uint32_t> exemplars(names.size(), kNone);
  for (uint32_t node = 0; node < nodes_.size(); ++node) {
    const Time &time = nodes_[node].on_cpu;
    if (time.ns == 0) continue;
    const uint32_t function = function_of[nodes_[node].frame];
    self[function].add(time);
    uint32_t &exemplar = exemplars[function];
    if (exemplar == kNone || nodes_[exemplar].on_cpu.ns < time.ns) exemplar = node;
  }
  std::vector<FunctionTime> found;
  for (const uint32_t function : largest(names.size(), most, [&](uint32_t a, uint32_t b) { return self[a].ns > self[b].ns; })) {
    if (found.size() == most || self[function].ns == 0) break;
    found.push_back(function_time(names[function], self[function], exemplars[function]));
  }
  return found;
}

// The same tree with functions for frames, and one of the times as `on_cpu`. Its nodes have their parents before them too.
StackTree StackTree::of_functions(const std::vector<uint32_t> &function_of, bool on_cpu) const {
  StackTree tree({.nodes = nodes_.size(), .frames = 0, .frame_bytes = 0});
  std::vector<uint32_t> node_of(nodes_.size());
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    const Node &node = nodes_[i];
    node_of[i] = tree.child_of(node.parent == kNone ? kNone : node_of[node.parent], function_of[node.frame]);
    tree.nodes_[node_of[i]].on_cpu.add(on_cpu ? node.on_cpu : node.wall);
  }
  return tree;
}

std::vector<StackTime> StackTree::stacks(size_t most, bool on_cpu) const {
  std::vector<std::string> names;
  const StackTree tree = of_functions(function_of_frames(names), on_cpu);
  const auto time_of = [&](uint32_t node) -> const Time & { return tree.nodes_[node].on_cpu; };
  std::vector<StackTime> found;
  Time others;
  for (const uint32_t node :
       largest(tree.nodes_.size(), most, [&](uint32_t a, uint32_t b) { return time_of(a).ns > time_of(b).ns; })) {
    if (found.size() == most)
      others.add(time_of(node));
    else if (time_of(node).ns > 0)
      found.push_back({stack_text(tree.path_to(node), names), time_of(node)});
  }
  if (others.ns > 0) found.push_back({"[other]", others});
  const Time &lost = on_cpu ? lost_on_cpu_ : lost_wall_;
  if (lost.ns > 0) found.push_back({"[stack lost]", lost});
  return found;
}

}  // namespace atalaya::jvm
