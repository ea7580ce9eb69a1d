// SPDX-License-Identifier: Apache-2.0
// The text that a JVM answers to "threaddump", line by line. Nothing is copied: what is found lies in the text. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace atalaya::jvm {

enum class State : uint8_t { none, runnable, blocked, waiting, sleeping };  // none: no Java thread, or one that does not say

struct DumpedThread {
  std::string_view name;
  uint64_t id = 0;  // of the thread while it lives
  State state = State::none;
  std::optional<int64_t> cpu_ns;         // since it began; JDK 11 and later
  std::vector<std::string_view> frames;  // the innermost first, as the line says it behind "at "
  bool is_cut() const;                   // there may be more at the root's end
};

class ThreadDump {
 public:
  // As deep as HotSpot writes a stack unless it is told otherwise; frames beyond, at the root's end, are left out.
  static constexpr size_t kMostFrames = 1023;

  explicit ThreadDump(std::string_view text) : rest_(text) {}

  // The next thread; its room is used again. False: the dump ends here.
  bool next(DumpedThread &thread);

 private:
  std::string_view next_line();
  std::string_view next_header();
  void take(std::string_view line, DumpedThread &thread);

  std::string_view rest_;
};

inline bool DumpedThread::is_cut() const {
  return frames.size() >= ThreadDump::kMostFrames;
}

// Whether a dump comes to its end: a JVM that dies says less.
bool is_whole(std::string_view dump);

// A frame as a dump has it: "java.lang.Object.wait(java.base@17.0.15/Native Method)".
struct Frame {
  // Line -2: native, as java.lang.StackTraceElement has it; -1: unknown, and `file` may be empty.
  std::string_view type, method, file;
  int line = -1;
};
// Nothing: it is none. Types that the JVM makes up, such as those of lambdas, lose their numbers: they are others in each run.
std::optional<Frame> parse_frame(std::string_view text);
// Without parsing the rest of it.
bool is_native(std::string_view frame);

}  // namespace atalaya::jvm
