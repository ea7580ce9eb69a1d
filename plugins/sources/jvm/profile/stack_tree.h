// SPDX-License-Identifier: Apache-2.0
// Sums the stacks of one JVM in one window in a prefix tree of frames; each node has the time
// that threads spent in it. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plugins/shared/code/jvm/thread_dump.h"
#include "plugins/shared/code/tasks/task_names.h"

namespace atalaya::jvm {

struct Time {
  uint64_t samples = 0;
  int64_t ns = 0;
  void add(const Time &other) {
    samples += other.samples;
    ns += other.ns;
  }
};

struct StackTime {
  std::string text;  // root first: "java.lang.Thread.run_[j];W.work_[j]"
  Time on_cpu, wall;
  tasks::TaskTags task = {};
};

// A function with its self-time and its most frequent stack.
struct FunctionTime {
  std::string name;  // "java.lang.System identityHashCode"
  Time self;
  std::string trace;  // lines "java.lang.System identityHashCode (System.java:-2)", the innermost first
  std::string stack;  // the same frames, root first, separated by ';'
};

class StackTree {
 public:
  static constexpr size_t kMaxTasks = 4096;
  struct Limits {
    size_t nodes = 65536, frames = 32768, frame_bytes = 1024;
    size_t bytes = size_t{4} << 20;  // maximum bytes of all frames, and of all reported texts
  };
  StackTree() : StackTree(Limits{}) {}
  explicit StackTree(Limits limits) : limits_(limits) {}

  // Adds the time of one stack. frames: as in ThreadDump. is_cut: frames at the root are missing, reported as "[truncated]". A
  // stack beyond the limits is reported as "[stack lost]"; a task beyond kMaxTasks is omitted. Allocates memory only for new frames
  // and tasks.
  void add(std::span<const std::string_view> frames, bool is_cut, const Time &on_cpu, const Time &wall,
           const tasks::TaskTags &task = {});
  // Adds CPU time without a stack, reported as "[not seen running]".
  void add_unseen(const Time &time) { unseen_.add(time); }

  // Returns up to `max_count` functions with the most CPU time. Stacks that exceed the limit of bytes end with "[truncated]".
  std::vector<FunctionTime> functions(size_t max_count) const;
  // Returns up to `max_count` stacks with the most CPU time (on_cpu) or elapsed time, without line numbers. The sum of all other
  // stacks is "[other]".
  std::vector<StackTime> stacks(size_t max_count, bool on_cpu) const;
  const Time &on_cpu() const { return on_cpu_; }  // the sum of times added with a stack
  const Time &unseen() const { return unseen_; }
  uint64_t lost() const { return lost_; }  // stacks beyond the limits

 private:
  struct Node {
    uint32_t parent, frame;  // a frame number >= kFirstTask: the node is the root of the stacks of a task
    Time on_cpu, wall;
  };
  struct TextHash {
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    using is_transparent = void;
  };
  static constexpr uint32_t kNone = UINT32_MAX, kFirstTask = uint32_t{1} << 31;
  static bool is_task(uint32_t frame) { return frame >= kFirstTask; }

  uint32_t frame_of(std::string_view line);
  uint32_t add_frame(std::string_view line, const Frame &frame);
  uint32_t child_of(uint32_t parent, uint32_t frame);
  uint32_t root_of(const tasks::TaskTags &task);
  uint32_t root_frame(uint32_t node) const;
  void count_lost(const Time &on_cpu, const Time &wall);
  std::vector<uint32_t> path_to(uint32_t node) const;  // from the node to the root, without a task
  // Returns the stack of a node as text with these function names; empty if it is longer than `max_bytes` bytes.
  std::string text_of(uint32_t node, const std::vector<std::string> &names, size_t max_bytes) const;
  StackTree merged_by_function(const std::vector<uint32_t> &function_of) const;
  void add_rest(std::vector<StackTime> &found, const StackTime &others) const;
  std::vector<uint32_t> function_of_frames(std::vector<std::string> &names) const;
  FunctionTime function_time(const std::string &name, const Time &self, uint32_t exemplar, size_t max_bytes) const;

  Limits limits_;
  std::unordered_map<std::string, uint32_t, TextHash, std::equal_to<>> known_;
  std::vector<Frame> frames_;                        // views into the keys of known_
  std::unordered_map<uint64_t, uint32_t> children_;  // node by parent and frame
  std::vector<Node> nodes_;                          // parents before their children
  std::map<tasks::TaskTags, uint32_t> tasks_;        // index of each task
  Time on_cpu_, unseen_, lost_on_cpu_, lost_wall_;
  uint64_t lost_ = 0;
  size_t bytes_ = 0;  // bytes of all frame texts
};

}  // namespace atalaya::jvm
