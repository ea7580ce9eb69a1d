// SPDX-License-Identifier: Apache-2.0
// Converts samples of a process to samples of its trace: stacks become symbols, metrics become resources. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "plugins/shared/analysis/phases/database.h"
#include "plugins/shared/io/match/matcher.h"

namespace atalaya::phases {

// Functions that have their own group: a thread whose stack contains one of them is in this group, whatever the rest of the
// stack is.
struct Group {
  std::string name;  // name of the phase
  io::Matcher functions;
};
inline constexpr std::string_view kShufflePattern = "~[Ss]huffle";

// Converts folded stacks to symbols, with a bounded cache.
class StackReader {
 public:
  StackReader(Symbols &symbols, Key key, const std::vector<Group> &groups);
  // Adds this number of threads to the symbols of the stack. False: the threads wait and are not counted.
  bool add(std::string_view folded, double threads, std::vector<Part> &parts);

 private:
  static constexpr size_t kMaxStacks = 16384, kMaxBytes = size_t{8} << 20, kMaxFrames = 512;
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::vector<uint32_t> symbols_of(std::string_view folded);

  Symbols &symbols_;
  const Key key_;
  const std::vector<Group> &groups_;
  std::unordered_map<std::string, std::vector<uint32_t>, Hash, std::equal_to<>> known_;
  size_t bytes_ = 0;
};

// Whether a thread with this innermost function waits for work, not for a disk. Such threads are ignored, because pools would
// hide the threads that work.
bool is_waiting(std::string_view frame);

// The measured values of a process in one window.
struct Assembled {
  int64_t duration_ns = 0;
  std::vector<Part> parts;
  double samples = 0;                // number of samples of stacks that do not wait
  std::optional<double> dumps;       // thread dumps in the window
  std::optional<double> gc_percent;  // per cent of the window in garbage collections
  std::optional<double> threads;     // number of threads of the process
  bool has_metrics = false, has_stacks = false;
  ResourceValues resources;

  // Adds a metric that is a resource of processes, or one of the values above. False for other metrics.
  bool take(std::string_view metric, double value, int64_t window_ns);
  // Whether the source jvm took no thread dump, because of its budget or interval: the state of the threads is unknown. A JVM
  // that mostly collects answers late and needs no dump.
  bool is_without_dump() const;
  // Merges the window before this one, which had no dump, into this one.
  void join(const Assembled &before);
};

// Merges windows without a dump into the next window with one. If more than five follow each other, their data is unknown.
class WindowsWithoutDump {
 public:
  // True if the window, which ended at this time, is pending because it has no dump. Otherwise the pending windows were merged
  // into it.
  bool add_window(int64_t time_ns, Assembled &window);

 private:
  static constexpr int64_t kMaxWindows = 5;
  std::optional<Assembled> pending_window_;
  int64_t end_ns_ = 0;
  bool is_jvm_ = false;
};

// A sample for the recognition. Garbage collection is a separate phase, and so is a process without running threads.
struct Ready {
  std::vector<Part> parts;
  double threads = 0;
};
Ready ready(const Assembled &window, bool is_wall, uint32_t gc_symbol, uint32_t idle_symbol);

inline constexpr std::string_view kGcSymbol = "[gc]", kIdleSymbol = "[idle]";

}  // namespace atalaya::phases
