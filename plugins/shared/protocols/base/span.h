// SPDX-License-Identifier: Apache-2.0
// Spans in histories of frameworks, such as MapReduce and Spark.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace atalaya::protocols {

enum class Outcome : int64_t { succeeded = 0, failed = 1, killed = 2 };

inline constexpr int64_t kNsPerMs = 1'000'000;
inline constexpr size_t kMaxId = 256;           // longer ids are ignored; other texts are cut
inline constexpr size_t kMaxCounterText = 200;  // longer groups, names and metric names of counters are cut

// A number of a job, stage or task with the group and name of its framework.
struct Counter {
  std::string group, name;
  int64_t value = 0;
};
using Counters = std::vector<Counter>;

// A position in a history: after the last line read, in the decoded text of one of its parts.
struct Position {
  uint64_t part = 0, offset = 0;
  bool operator==(const Position &) const = default;
  bool is_after(const Position &other) const { return part != other.part ? part > other.part : offset > other.offset; }
};

struct Span {
  std::string text;  // the level: job, stage, task, phase; or executor, fact, error
  int64_t start_ms = 0;
  int64_t duration_ms = -1;  // -1: still running
  // Empty texts are absent.
  std::string host, framework, job, name, stage, task, attempt, phase, locality, executor, source;
  // "model": the duration was logged, the start is estimated; "coarse": the span combines several phases of the task
  std::string quality;
  std::string fact, value;  // only for a fact
  std::string error;        // first lines of the failure's reason
  std::optional<int64_t> bytes, records, remote_bytes, gc_ms, slots;
  std::optional<Outcome> outcome;
  Counters counters;
  Position at;  // position after the line that reports its completion
};
using Spans = std::vector<Span>;

// Ends a task or stage that is still running at the end of its job: the framework kills it then.
inline void close_with_job(const Span &running, int64_t end_ms, Spans &out) {
  if (end_ms < running.start_ms) return;
  out.push_back(running);
  out.back().duration_ms = end_ms - running.start_ms;
  out.back().outcome = Outcome::killed;
}

// Unreadable pieces of a history.
struct Damage {
  uint64_t count = 0;
  std::string first;  // location and reason of the first one

  void add(std::string_view where, std::string_view what) {
    if (count++ == 0) first = std::string(where) + ": " + std::string(what);
  }
};

}  // namespace atalaya::protocols
