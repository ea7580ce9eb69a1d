// SPDX-License-Identifier: Apache-2.0
// Parses the JVM's answer to "threaddump", line by line. Results are views of the text. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "plugins/shared/code/jvm/attach.h"

namespace atalaya::jvm {

// The call for a thread dump. Its limit is enough for thousands of threads; longer dumps are too expensive.
inline constexpr Call kThreadDump{
    .operation = "threaddump", .argument = {}, .min_version = 6, .purpose = "dump threads", .max_answer = size_t{8} << 20};

// The JVM's thread that writes the dump.
inline constexpr std::string_view kDumpWriter = "Attach Listener";

enum class State : uint8_t { none, runnable, blocked, waiting, sleeping };  // none: not a Java thread, or unknown

struct DumpedThread {
  std::string_view name;
  uint64_t id = 0;     // Java's id of the thread; constant, also while it carries a virtual thread
  int32_t number = 0;  // the kernel's thread id in the namespace of the JVM; 0: unknown
  State state = State::none;
  std::optional<int64_t> cpu_ns;         // CPU time since its start; JDK 11 and later
  std::vector<std::string_view> frames;  // innermost first, the text after "at "; of a carrier: the frames of its virtual thread
  bool is_cut() const;                   // frames may be missing at the root
};

class ThreadDump {
 public:
  // HotSpot's default maximum depth; further frames, at the root, are left out.
  static constexpr size_t kMaxFrames = 1023;

  explicit ThreadDump(std::string_view text) : rest_(text) {}

  // Reads the next thread into a reused object. False at the end of the dump.
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

// Returns true if the dump is complete. A JVM that exits may send only its first part.
bool is_complete(std::string_view dump);

// A frame of a dump: "java.lang.Object.wait(java.base@17.0.15/Native Method)".
struct Frame {
  // Line -2: native, as in java.lang.StackTraceElement; -1: unknown, and `file` may be empty.
  std::string_view type, method, file;
  int line = -1;
};
// Parses a frame; nothing if the text is not a frame. Numbers of generated types, such as lambdas, are removed, because they
// differ in each run.
std::optional<Frame> parse_frame(std::string_view text);
// Whether a frame is native, without parsing its other parts.
bool is_native(std::string_view frame);

}  // namespace atalaya::jvm
