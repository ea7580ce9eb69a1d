// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/jvm/profile/stack_tree.h"

#include <algorithm>
#include <numeric>

namespace atalaya::jvm {
namespace {

constexpr std::string_view kTruncated = "[truncated]";
constexpr size_t kMaxText = size_t{256} << 10;  // of one stack

uint64_t key_of(uint32_t parent, uint32_t frame) {
  return uint64_t{parent} << 32 | frame;
}

// Replaces the separator ';' and line ends.
void append_name(std::string &text, std::string_view name) {
  for (const char byte : name) text += byte == ';' ? ':' : static_cast<unsigned char>(byte) < ' ' ? ' ' : byte;
}

// Returns "FILE:LINE". A dump lacks the file of a native method: it is named after the outermost class.
std::string place_of(const Frame &frame) {
  std::string place(frame.file);
  if (place.empty() && frame.line == -2) {
    const std::string_view simple = frame.type.substr(frame.type.rfind('.') + 1);
    place = std::string(simple.substr(0, simple.find('$'))) + ".java";
  }
  return place.empty() ? "Unknown Source" : place + ":" + std::to_string(frame.line);
}

// "java.lang.System identityHashCode"
std::string name_of(const Frame &frame) {
  std::string name;
  append_name(name, frame.type);
  if (frame.method.empty()) return name;
  name += ' ';
  append_name(name, frame.method);
  return name;
}

void append_line(std::string &text, const Frame &frame) {
  text += name_of(frame);
  if (frame.method.empty()) return;
  text += " (";
  append_name(text, place_of(frame));
  text += ')';
}

// Orders indexes so that the first `max_count` are the largest; equal ones keep their order.
template <class Larger>
std::vector<uint32_t> largest(size_t count, size_t max_count, Larger larger) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  const auto middle = order.begin() + static_cast<ptrdiff_t>(std::min(max_count, count));
  std::partial_sort(order.begin(), middle, order.end(),
                    [&](uint32_t a, uint32_t b) { return larger(a, b) || (!larger(b, a) && a < b); });
  return order;
}

}  // namespace

uint32_t StackTree::add_frame(std::string_view line, const Frame &frame) {
  if (frames_.size() >= limits_.frames || bytes_ + line.size() > limits_.bytes) return kNone;
  const auto added = known_.emplace(line, static_cast<uint32_t>(frames_.size())).first;
  frames_.push_back(frame);
  bytes_ += line.size();
  return added->second;
}

uint32_t StackTree::frame_of(std::string_view line) {
  const auto known = known_.find(line);
  if (known != known_.end()) return known->second;
  if (line.size() > limits_.frame_bytes || !parse_frame(line)) return kNone;
  const uint32_t frame = add_frame(line, {});
  if (frame != kNone) frames_.back() = *parse_frame(known_.find(line)->first);
  return frame;
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

void StackTree::count_lost(const Time &on_cpu, const Time &wall) {
  lost_ += std::max(on_cpu.samples, wall.samples);
  lost_on_cpu_.add(on_cpu);
  lost_wall_.add(wall);
}

// Returns the root node of the task's stacks; kNone: no task, or too many tasks.
uint32_t StackTree::root_of(const tasks::TaskTags &task) {
  if (task.empty() || (tasks_.size() >= kMaxTasks && !tasks_.contains(task))) return kNone;
  const uint32_t number = tasks_.try_emplace(task, static_cast<uint32_t>(tasks_.size())).first->second;
  return child_of(kNone, kFirstTask + number);
}

void StackTree::add(std::span<const std::string_view> frames, bool is_cut, const Time &on_cpu, const Time &wall,
                    const tasks::TaskTags &task) {
  on_cpu_.add(on_cpu);
  if (frames.empty()) return count_lost(on_cpu, wall);
  uint32_t node = root_of(task);
  if (is_cut) {
    const auto known = known_.find(kTruncated);
    const uint32_t frame =
        known != known_.end() ? known->second : add_frame(kTruncated, {.type = kTruncated, .method = {}, .file = {}});
    node = frame == kNone ? kNone : child_of(node, frame);
    if (node == kNone) return count_lost(on_cpu, wall);
  }
  for (size_t i = frames.size(); i-- > 0;) {
    const uint32_t frame = frame_of(frames[i]);
    node = frame == kNone ? kNone : child_of(node, frame);
    if (node == kNone) return count_lost(on_cpu, wall);
  }
  nodes_[node].on_cpu.add(on_cpu);
  nodes_[node].wall.add(wall);
}

// Maps frames, which have line numbers, to functions.
std::vector<uint32_t> StackTree::function_of_frames(std::vector<std::string> &names) const {
  std::vector<uint32_t> functions;
  functions.reserve(frames_.size());
  std::unordered_map<std::string, uint32_t> known;
  for (const Frame &frame : frames_) {
    std::string name = name_of(frame);
    const auto found = known.try_emplace(name, static_cast<uint32_t>(names.size())).first;
    if (found->second == names.size()) names.push_back(std::move(name));
    functions.push_back(found->second);
  }
  return functions;
}

std::vector<uint32_t> StackTree::path_to(uint32_t node) const {
  std::vector<uint32_t> path;
  for (; node != kNone; node = nodes_[node].parent)
    if (!is_task(nodes_[node].frame)) path.push_back(node);
  return path;
}

uint32_t StackTree::root_frame(uint32_t node) const {
  while (nodes_[node].parent != kNone) node = nodes_[node].parent;
  return nodes_[node].frame;
}

FunctionTime StackTree::function_time(const std::string &name, const Time &self, uint32_t exemplar, size_t max_bytes) const {
  FunctionTime function{.name = name, .self = self, .trace = {}, .stack = {}};
  std::vector<std::string> lines;  // the innermost first
  for (const uint32_t node : path_to(exemplar)) {
    std::string line;
    append_line(line, frames_[nodes_[node].frame]);
    const bool fits = line.size() < max_bytes;
    lines.push_back(fits ? std::move(line) : std::string(kTruncated));
    if (!fits) break;
    max_bytes -= lines.back().size() + 1;
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    function.trace += (i > 0 ? "\n" : "") + lines[i];
    function.stack += (i > 0 ? ";" : "") + lines[lines.size() - 1 - i];
  }
  return function;
}

std::vector<FunctionTime> StackTree::functions(size_t max_count) const {
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
  size_t remaining = limits_.bytes;
  for (const uint32_t function :
       largest(names.size(), max_count, [&](uint32_t a, uint32_t b) { return self[a].ns > self[b].ns; })) {
    if (found.size() == max_count || self[function].ns == 0) break;
    found.push_back(function_time(names[function], self[function], exemplars[function], std::min(remaining, kMaxText)));
    remaining -= std::min(remaining, found.back().trace.size());
  }
  return found;
}

// Writes "java.lang.System identityHashCode" with a dot, as in profiles of the source perf.
std::string StackTree::text_of(uint32_t node, const std::vector<std::string> &names, size_t max_bytes) const {
  const std::vector<uint32_t> path = path_to(node);
  std::string text;
  for (size_t i = path.size(); i-- > 0 && text.size() <= max_bytes;) {
    std::string name = names[nodes_[path[i]].frame];
    if (const size_t space = name.find(' '); space != std::string::npos) name.replace(space, 1, ".").append("_[j]");
    text += name + (i > 0 ? ";" : "");
  }
  return text.size() <= max_bytes ? text : std::string();
}

// Returns a tree with one node per function and parent; the parents are before their children here too.
StackTree StackTree::merged_by_function(const std::vector<uint32_t> &function_of) const {
  StackTree tree({.nodes = nodes_.size(), .frames = 0, .frame_bytes = 0, .bytes = 0});
  std::vector<uint32_t> node_of(nodes_.size());
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    const Node &node = nodes_[i];
    const uint32_t frame = is_task(node.frame) ? node.frame : function_of[node.frame];
    node_of[i] = tree.child_of(node.parent == kNone ? kNone : node_of[node.parent], frame);
    tree.nodes_[node_of[i]].on_cpu.add(node.on_cpu);
    tree.nodes_[node_of[i]].wall.add(node.wall);
  }
  return tree;
}

void StackTree::add_rest(std::vector<StackTime> &found, const StackTime &others) const {
  for (const StackTime &rest :
       {others, StackTime{"[stack lost]", lost_on_cpu_, lost_wall_}, StackTime{"[not seen running]", unseen_, {}}})
    if (rest.on_cpu.ns > 0 || rest.wall.ns > 0) found.push_back(rest);
}

std::vector<StackTime> StackTree::stacks(size_t max_count, bool on_cpu) const {
  std::vector<std::string> names;
  const std::vector<uint32_t> function_of = function_of_frames(names);
  const StackTree tree = merged_by_function(function_of);
  const auto time_of = [&](uint32_t node) { return (on_cpu ? tree.nodes_[node].on_cpu : tree.nodes_[node].wall).ns; };
  std::vector<StackTime> found;
  StackTime others{.text = "[other]", .on_cpu = {}, .wall = {}};
  std::vector<const tasks::TaskTags *> task_of_number(tasks_.size());
  for (const auto &[task, task_number] : tasks_) task_of_number[task_number] = &task;
  size_t remaining = limits_.bytes;
  for (const uint32_t number :
       largest(tree.nodes_.size(), max_count, [&](uint32_t a, uint32_t b) { return time_of(a) > time_of(b); })) {
    const Node &node = tree.nodes_[number];
    if (time_of(number) == 0) continue;
    std::string text = found.size() < max_count ? tree.text_of(number, names, std::min(remaining, kMaxText)) : std::string();
    if (text.empty()) {
      others.on_cpu.add(node.on_cpu);
      others.wall.add(node.wall);
      continue;
    }
    remaining -= text.size();
    found.push_back({.text = std::move(text), .on_cpu = node.on_cpu, .wall = node.wall});
    if (const uint32_t root = tree.root_frame(number); is_task(root)) found.back().task = *task_of_number[root - kFirstTask];
  }
  add_rest(found, others);
  return found;
}

}  // namespace atalaya::jvm
