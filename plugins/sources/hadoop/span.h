// SPDX-License-Identifier: Apache-2.0
// What a history is turned into.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace atalaya::hadoop {

enum class Outcome : int64_t { succeeded = 0, failed = 1, killed = 2 };

inline constexpr size_t kMaxId = 256;           // a longer id is none; other texts are cut there
inline constexpr size_t kMaxCounterText = 200;  // a counter's group or name is cut there, as is its metric's name

// The numbers of a job, stage or task by group and name, as its framework calls them.
struct Counter {
  std::string group, name;
  int64_t value = 0;
};
using Counters = std::vector<Counter>;

// A place in a history: behind the last line taken, in the decoded text of one of its parts.
struct Position {
  uint64_t part = 0, offset = 0;
  bool operator==(const Position &) const = default;
  bool beyond(const Position &other) const { return part != other.part ? part > other.part : offset > other.offset; }
};

struct Span {
  std::string text;  // its level: job, stage, task, phase; or fact
  int64_t start_ms = 0;
  int64_t duration_ms = -1;  // -1: it has not ended
  // Absent are the empty ones.
  std::string host, framework, job, name, stage, task, attempt, phase, locality, executor, source;
  // model: its length was logged, its place in the task was not; coarse: it holds what the task knows as several phases
  std::string quality;
  std::string fact, value;  // of a fact
  std::optional<int64_t> bytes, records, remote_bytes, gc_ms;
  std::optional<Outcome> outcome;
  Counters counters;
  Position at;  // where it was completed
};
using Spans = std::vector<Span>;

// A task or stage that has no end of its own when its job ends: the framework drops it then.
inline void close_with_job(const Span &running, int64_t end_ms, Spans &out) {
  if (end_ms < running.start_ms) return;
  out.push_back(running);
  out.back().duration_ms = end_ms - running.start_ms;
  out.back().outcome = Outcome::killed;
}

// What of a history could not be read.
struct Damage {
  uint64_t count = 0;
  std::string first;  // where and what

  void add(std::string_view where, std::string_view what) {
    if (count++ == 0) first = std::string(where) + ": " + std::string(what);
  }
};

}  // namespace atalaya::hadoop
