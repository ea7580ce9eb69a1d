// SPDX-License-Identifier: Apache-2.0
// The stacks of one JVM in one window: a prefix tree of frames, each with how long threads were seen in it. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plugins/sources/jvm/thread_dump.h"

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
};

// A function by its self-time, with the stack that most of it was in.
struct FunctionTime {
  std::string name;  // "java.lang.System identityHashCode"
  Time self;
  std::string trace;  // lines "java.lang.System identityHashCode (System.java:-2)", the innermost first
  std::string stack;  // the same, root first, between them ';'
};

class StackTree {
 public:
  struct Limits {
    size_t nodes = 65536, frames = 32768, frame_bytes = 1024;
    size_t bytes = size_t{4} << 20;  // of all frames, and of all texts that are told
  };
  StackTree() : StackTree(Limits{}) {}
  explicit StackTree(Limits limits) : limits_(limits) {}

  // Frames as ThreadDump has them; is_cut: there are more at the root, told as "[truncated]". What there is no room for is told as
  // "[stack lost]". Allocates for what is new only.
  void add(std::span<const std::string_view> frames, bool is_cut, const Time &on_cpu, const Time &wall);
  // CPU time that is in no stack, told as "[not seen running]".
  void add_unseen(const Time &time) { unseen_.add(time); }

  // The functions that took most time on CPUs. What does not fit of their stacks is told as "[truncated]".
  std::vector<FunctionTime> functions(size_t most) const;
  // The stacks with most time, on CPUs or altogether, without line numbers; of the others, and of those too long to be told, the
  // sum, as "[other]".
  std::vector<StackTime> stacks(size_t most, bool on_cpu) const;
  const Time &on_cpu() const { return on_cpu_; }  // the sum of what was added with a stack
  const Time &unseen() const { return unseen_; }
  uint64_t lost() const { return lost_; }  // samples without room

 private:
  struct Node {
    uint32_t parent, frame;
    Time on_cpu, wall;
  };
  struct Text {
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    using is_transparent = void;
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t frame_of(std::string_view line);
  uint32_t add_frame(std::string_view line, const Frame &frame);
  uint32_t child_of(uint32_t parent, uint32_t frame);
  void lose(const Time &on_cpu, const Time &wall);
  std::vector<uint32_t> path_to(uint32_t node) const;  // from there to the root
  // These stacks of functions of such names; empty: it is longer than `room`.
  std::string text_of(uint32_t node, const std::vector<std::string> &names, size_t room) const;
  StackTree of_functions(const std::vector<uint32_t> &function_of) const;
  void add_rest(std::vector<StackTime> &found, const StackTime &others) const;
  std::vector<uint32_t> function_of_frames(std::vector<std::string> &names) const;
  FunctionTime function_time(const std::string &name, const Time &self, uint32_t exemplar, size_t room) const;

  Limits limits_;
  std::unordered_map<std::string, uint32_t, Text, std::equal_to<>> known_;
  std::vector<Frame> frames_;                        // in the keys of known_
  std::unordered_map<uint64_t, uint32_t> children_;  // by parent and frame
  std::vector<Node> nodes_;                          // parents before their children
  Time on_cpu_, unseen_, lost_on_cpu_, lost_wall_;
  uint64_t lost_ = 0;
  size_t bytes_ = 0;  // in frames
};

}  // namespace atalaya::jvm
