// SPDX-License-Identifier: Apache-2.0
// Queries and their answers. docs/reference/query.md explains the rules to users.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/sample/span_end.h"
#include "plugins/shared/store/query/arithmetic/aggregator.h"
#include "plugins/shared/store/store.h"

namespace atalaya::query {

using store::Range;
using store::Tags;

// An invalid query: the error and the remedy. The user corrects it: exit status 2 or HTTP 400.
class Wrong : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
// The metric is not in the store.
class UnknownMetric : public Wrong {
 public:
  using Wrong::Wrong;
};
// A result beyond a limit. The user narrows the query or raises the limit; a command that reports several parts skips the part.
class TooMuch : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The same of the number of points: a part of the result may be within the limit.
class TooManyPoints : public TooMuch {
 public:
  using TooMuch::TooMuch;
};

// The same of the number of series: parts of the selection may be within the limit.
class TooManySeries : public TooMuch {
 public:
  using TooMuch::TooMuch;
};

// The client does not need the answer any more.
class Cancelled : public std::runtime_error {
 public:
  Cancelled() : std::runtime_error("the request was cancelled") {}
};

struct Point {
  int64_t time_ns = 0;
  double value = 0;         // not a number: unknown, added by a fill policy
  int64_t duration_ns = 0;  // length of the window in which a stored value is valid; else 0

  // Whether the point's window contains the time.
  bool covers(int64_t other_ns) const { return other_ns <= time_ns && core::start_of(time_ns, duration_ns) < other_ns; }
};

// The end that names an interval and belongs to it. Windows are (from, to] and have the time of their end; OpenTSDB's intervals are
// [from, to) and have the time of their start.
enum class Edge { end, start };

enum class Fill { none, nan, null, zero };

struct Downsample {
  int64_t interval_ns = 0;             // 0: the whole range is one interval
  std::optional<Aggregator> function;  // absent: the amount of deltas, the last value of totals, integral / time of the others
  Fill fill = Fill::none;
  int64_t offset_ns = 0;  // offset of the starts of intervals from multiples of their length
};

// Changes per second. A decrease of a counter is a reset, which leaves a gap, or a wrap, if its largest value is known.
struct Rate {
  bool counter = true;
  double largest = 0;      // largest value of a counter that wraps; 0: it does not wrap
  double reset_value = 0;  // a higher rate across a decrease is a reset, not a wrap; 0: no limit
};

// Totals and metrics of an unknown kind have values at instants; the others have values of intervals.
enum class Kinds { all, intervals, instants };

struct Query {
  std::vector<std::string> metrics;  // patterns of names
  Kinds kinds = Kinds::all;
  std::vector<store::TagFilter> tags;
  std::vector<store::TagFilter> tags_if_any;  // filters that apply only to series with the tag
  Range range;
  Aggregator aggregator = Aggregator::zimsum();
  bool group = true;                  // false: an answer per series (aggregator "none")
  std::vector<std::string> group_by;  // keys of tags; "*": all
  std::optional<Downsample> downsample;
  std::optional<Rate> rate;
  Edge edge = Edge::end;
};

// A double represents exactly all integers up to this one.
constexpr int64_t kExactCounts = int64_t{1} << 53;
struct Count {
  int64_t time_ns = 0;
  int64_t value = 0;
};

// The collected part of an interval: an average is of this part only.
struct Covered {
  int64_t time_ns = 0;  // time of the interval's point
  double part = 1;      // collected part, 0 to 1
};

struct Answer {
  std::string metric;
  Tags tags;                                 // tags that all its series have
  std::vector<std::string> aggregated_tags;  // keys in which they differ
  std::vector<Point> points;
  std::vector<Count> counts;                      // by time: exact values of points that are a stored count beyond kExactCounts
  std::vector<Covered> partly;                    // by time: the points of intervals that were not collected completely
  double coverage = 1;                            // the collected part of the range; for answers with intervals
  std::optional<double> integral = std::nullopt;  // integral over the range, if the points are sums
  int64_t window_ns = 0;                          // the longest last window of its series; 0: unknown
  // kind and unit of the points; those of a rate differ from its metric's. Null: unknown
  std::shared_ptr<const store::MetricInfo> info = nullptr;
};

struct Limits {
  size_t series = 100'000;     // maximum series; more are allowed if the limit of points permits it
  size_t points = 10'000'000;  // maximum points in memory at a time, after downsampling
  int64_t time_ns = 60'000'000'000;
  int64_t request_ns = 0;                        // time limit of the complete request; time_ns is the rest of it
  const std::atomic<bool> *cancelled = nullptr;  // the query stops soon after it becomes true; null: never
};

}  // namespace atalaya::query
