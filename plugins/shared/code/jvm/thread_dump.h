// SPDX-License-Identifier: Apache-2.0
// Parses the JVM's answer to "threaddump", line by line. Results point into the text. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "plugins/shared/code/jvm/attach.h"

namespace atalaya::jvm {

// Enough for stacks of thousands of threads; longer dumps are too expensive.
inline constexpr Call kThreadDump{
    .operation = "threaddump", .argument = {}, .min_version = 6, .purpose = "dump threads", .max_answer = size_t{8} << 20};

// The JVM's own thread that writes the dump.
inline constexpr std::string_view kAnswering = "Attach Listener";

enum class State : uint8_t { none, runnable, blocked, waiting, sleeping };  // none: not a Java thread, or unknown

struct DumpedThread {
  std::string_view name;
  uint64_t id = 0;     // of the thread while it lives, also while it carries a virtual thread
  int32_t number = 0;  // of the system's thread, in the namespace of the JVM; 0: unknown
  State state = State::none;
  std::optional<int64_t> cpu_ns;         // since its start; JDK 11 and later
  std::vector<std::string_view> frames;  // innermost first, the text after "at "; a carrier's are those of its virtual thread
  bool is_cut() const;                   // frames may be missing at the root
};

class ThreadDump {
 public:
  // HotSpot's default maximum depth; further frames, at the root, are left out.
  static constexpr size_t kMaxFrames = 1023;

  explicit ThreadDump(std::string_view text) : rest_(text) {}

  // The next thread, into a reused buffer. False: end of the dump.
  bool next(DumpedThread &thread);

 private:
  std::string_view next_line();
  std::string_view next_header();
  void take(std::string_view line, DumpedThread &thread);

  std::string_view rest_;
};

inline bool DumpedThread::is_cut() const {
  return frames.size() >= ThreadDump::kMaxFrames;
}

// Whether a dump is complete: a JVM that exits may send less.
bool is_whole(std::string_view dump);

// A frame of a dump: "java.lang.Object.wait(java.base@17.0.15/Native Method)".
struct Frame {
  // Line -2: native, as in java.lang.StackTraceElement; -1: unknown, and `file` may be empty.
  std::string_view type, method, file;
  int line = -1;
};
// Nothing: not a frame. Numbers of generated types, such as lambdas, are removed, because they differ in each run.
std::optional<Frame> parse_frame(std::string_view text);
// Does not parse the rest of the frame.
bool is_native(std::string_view frame);

}  // namespace atalaya::jvm
