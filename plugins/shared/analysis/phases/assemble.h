// SPDX-License-Identifier: Apache-2.0
// From samples of a process to those of its trace: stacks become symbols, metrics become resources. Pure.
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

// Functions with a meaning of their own: a thread below one of them is in this group, whatever else is in its stack.
struct Group {
  std::string name;  // the phase's
  io::Matcher functions;
};
inline constexpr std::string_view kShufflePattern = "~[Ss]huffle";

// Translates folded stacks, with a bounded memory of those that it has seen.
class StackReader {
 public:
  StackReader(Symbols &symbols, Key key, const std::vector<Group> &groups);
  // Adds this number of threads to the symbols of the stack. False: they wait, which is not counted.
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

// The innermost function of a thread that waits for work, and not for a disk: pools would hide the threads that work.
bool is_waiting(std::string_view frame);

// The measured values of a process in one window.
struct Assembled {
  int64_t duration_ns = 0;
  std::vector<Part> parts;
  double samples = 0;                // of stacks that do not wait
  std::optional<double> dumps;       // thread dumps in the window
  std::optional<double> gc_percent;  // of the window in collections
  std::optional<double> threads;     // of the process
  bool has_metrics = false, has_stacks = false;
  ResourceValues resources;

  // Adds a metric that is a resource of processes, or one of those above. False: it is neither.
  bool take(std::string_view metric, double value, int64_t window_ns);
  // The source jvm took no thread dump, because of its budget or interval: nobody knows what the threads did. A JVM that mostly
  // collects answers late, and needs no dump.
  bool is_without_dump() const;
  // Becomes one window with the one before it, which was without a dump.
  void join(const Assembled &before);
};

// Windows without a dump are a part of the next one; of more than five in a row nothing is known.
class Undumped {
 public:
  // True: the window, which ended at this time, is pending because it has no dump. Else the pending windows were joined to it.
  bool keep(int64_t time_ns, Assembled &window);

 private:
  static constexpr int64_t kMaxWindows = 5;
  std::optional<Assembled> kept_;
  int64_t end_ns_ = 0;
  bool is_jvm_ = false;
};

// A sample for the recognition: collections are a phase of their own, and so is a process without running threads.
struct Ready {
  std::vector<Part> parts;
  double threads = 0;
};
Ready ready(const Assembled &window, bool is_wall, uint32_t gc_symbol, uint32_t idle_symbol);

inline constexpr std::string_view kGcSymbol = "[gc]", kIdleSymbol = "[idle]";

}  // namespace atalaya::phases
