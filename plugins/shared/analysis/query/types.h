// SPDX-License-Identifier: Apache-2.0
// What is asked and what is answered. docs/reference/query.md explains the rules to those who query.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "plugins/shared/analysis/query/aggregator.h"
#include "plugins/shared/store/store.h"

namespace atalaya::query {

using store::Range;
using store::Tags;

// A question that cannot be answered: what is wrong with it, and what to write instead.
class Wrong : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
// The store has never seen such a metric.
class UnknownMetric : public Wrong {
 public:
  using Wrong::Wrong;
};
// An answer that would cost more than is allowed.
class TooMuch : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Point {
  int64_t time_ns = 0;
  double value = 0;  // not a number: nothing is known, and a fill policy asked to say so
};

// Where an interval has its name, and which of its ends it holds. Windows are (from, to] and named by their end; OpenTSDB's
// intervals are [from, to) and named by their begin.
enum class Edge { end, start };

enum class Fill { none, nan, null, zero };

struct Downsample {
  int64_t interval_ns = 0;             // 0: the whole range is one interval
  std::optional<Aggregator> function;  // absent: the sum of deltas, the average of the rest
  Fill fill = Fill::none;
};

// Changes per second. A decrease of a counter is a reset, which leaves a gap, or a wrap, where its largest value is known.
struct Rate {
  bool counter = true;
  double largest = 0;      // of a counter that wraps; 0: it does not
  double reset_value = 0;  // a higher rate across a decrease is a reset, not a wrap; 0: no limit
};

struct Query {
  std::vector<std::string> metrics;  // patterns
  std::vector<store::TagFilter> tags;
  std::vector<store::TagFilter> tags_if_any;  // for a series without the tag they do not count
  Range range;
  Aggregator aggregator = Aggregator::zimsum();
  bool group = true;                  // false: every series is an answer of its own (aggregator "none")
  std::vector<std::string> group_by;  // keys of tags; "*": all
  std::optional<Downsample> downsample;
  std::optional<Rate> rate;
  Edge edge = Edge::end;
};

// Counts beyond it are not all numbers that a double holds.
constexpr int64_t kExactCounts = int64_t{1} << 53;
struct Count {
  int64_t time_ns = 0;
  int64_t value = 0;
};

struct Answer {
  std::string metric;
  Tags tags;                                 // what all its series have in common
  std::vector<std::string> aggregated_tags;  // keys in which they differ
  std::vector<Point> points;
  std::vector<Count> counts;  // by time: of points that are a stored count beyond kExactCounts, that count
};

struct Limits {
  size_t series = 100'000;
  size_t points = 10'000'000;  // held at a time, after downsampling
  int64_t time_ns = 60'000'000'000;
};

}  // namespace atalaya::query
