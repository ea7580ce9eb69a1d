// SPDX-License-Identifier: Apache-2.0
// The interface of the stores, which all engines implement. Threads: one thread at a time uses an object; several threads open
// several. Readers and writers never block each other. In an embedded store each call reads one snapshot; in ClickHouse each
// statement does, and a call may need several: scan() has one per metric. Errors: all functions throw store::Error (error.h);
// its cause selects the reaction. Exceptions of callbacks reach the caller, and the object remains usable: limits of time and
// memory end a call in this way. Times are Unix nanoseconds. A range is (from, to]. A point is in it if its window ends in it;
// stacks and spans are in it if they overlap it.
#pragma once

#include <atalaya/plugin.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/now.h"
#include "core/base/sample/name_cache.h"
#include "plugins/shared/store/catalogue.h"
#include "plugins/shared/store/collection.h"
#include "plugins/shared/store/error.h"
#include "plugins/shared/store/identity.h"

namespace atalaya::store {

struct Range {
  int64_t from_ns = std::numeric_limits<int64_t>::min();
  int64_t to_ns = std::numeric_limits<int64_t>::max();
};

// Patterns have the syntax of plugins/shared/io/match/matcher.h: texts, globs, ~regex, !negations. A list matches if any of its
// patterns does.
struct TagFilter {
  std::string key;
  std::vector<std::string> patterns;  // a missing tag passes only if all patterns are negated
};
struct Selection {
  std::vector<std::string> metrics;  // patterns of metric names, or of the names of spans; empty: all
  std::vector<TagFilter> tags;       // all filters must match
  Range range;
};

struct Series {
  int64_t entity = 0, metric_id = 0;  // numbers of this store for `scan`; equal tags have an equal entity
  std::string metric;
  Tags tags;
  std::shared_ptr<const MetricInfo> info = nullptr;  // null: unknown

  Kind kind() const { return info ? info->kind : Kind::unknown; }
};

// Points of one series in ascending time, no time twice. Valid during the call only.
struct Points {
  std::span<const int64_t> times_ns, durations_ns;
  std::span<const double> values;
  std::span<const int64_t> counts;  // the exact values if they are counts; else empty
};

// Statistics of a part of a series, known without reading its points.
struct Summary {
  int64_t count = 0;
  int64_t first_ns = 0, last_ns = 0;  // times of the first and the last point
  double sum = 0, min = 0, max = 0, first = 0, last = 0;
  // If the part is complete windows: the integral of the values over them, in value x ns, and the sum of their lengths.
  std::optional<double> integral = std::nullopt;
  int64_t durations_ns = 0;
};

// Consecutive intervals of one length.
struct Steps {
  int64_t length_ns = 0;  // 0: the complete range is one interval
  int64_t begin_ns = 0;   // start of one interval: from 0 to length_ns
  Range range;            // summaries are within this range
  // Summaries are of complete windows, with their integral. Windows that cross the end of a step or of the range, and instants,
  // are passed as points.
  bool integrals = false;
};

class PointVisitor {
 public:
  virtual ~PointVisitor() = default;
  // The steps whose summaries `take` always accepts, for all series of the metric of this series. A store with a server
  // requests summaries instead of points.
  virtual std::optional<Steps> steps(size_t /*series*/) const { return std::nullopt; }
  // Receives the summary of all points of the series from first_ns to last_ns, which are all in the range. True accepts it
  // instead of the points; then `points` is not called for them.
  virtual bool take(size_t /*series*/, const Summary &) { return false; }
  virtual void points(size_t series, const Points &) = 0;
  // Receives the points of a step that were rolled up: their summary, and in `plain` one point that replaces them, at the end
  // of the step. Late points of the same step may follow or precede it.
  virtual void rolled(size_t series, const Summary &, const Points &plain) { points(series, plain); }
};

struct Field {
  std::string_view name;
  bool is_count = false;
  double value = 0;
  int64_t count = 0;  // the exact value if is_count
};

// Within a call equal texts have equal numbers and equal tags have equal entities, so that sums need not compare texts.
struct Stack {
  int64_t time_ns = 0, duration_ns = 0;
  int64_t entity = 0, number = 0;
  const Tags &tags;
  std::string_view folded;
  std::span<const Field> fields;
};
struct Span {
  int64_t start_ns = 0, duration_ns = 0;  // -1: still open
  int64_t entity = 0;
  const Tags &tags;
  std::string_view name;
  std::span<const Field> fields;
};

class Store {
 public:
  virtual ~Store() = default;

  virtual std::string name() const = 0;  // name in messages: "sqlite:/var/lib/atalaya/atalaya.db"

  // Returns the sorted names of metrics, including those whose samples have expired.
  virtual std::vector<std::string> metrics() = 0;
  // Returns the same metrics with their declarations.
  virtual Catalogue catalogue() = 0;
  virtual std::vector<std::string> tag_keys() = 0;
  virtual std::vector<std::string> tag_values(std::string_view key) = 0;

  // Returns the range from just before the oldest sample to the newest one, of samples up to `until_ns`; nothing if there is
  // none. SQLite does not read samples for it: if samples are packed, the end may be as late as `until_ns`. Stacks may be
  // included, spans are not.
  virtual std::optional<Range> extent(int64_t until_ns) = 0;

  // Returns when the families of the hosts were collected, for a range that contains this one. The store has no sample before
  // the first time or after the last one.
  virtual std::vector<CollectedRow> collected(const Range &range) = 0;

  // Returns the series in order of metric and tags; at most `limit`, those that are found first. Omits series that certainly
  // have no point in the range; others may have none either.
  virtual std::vector<Series> series(const Selection &selection, size_t limit = std::numeric_limits<size_t>::max()) = 0;

  // Reads the points of these series, which `series` has returned; old points may be rolled up to longer steps. The points of
  // one series are in ascending time, in any number of calls; calls of different series alternate. The memory does not depend
  // on the range.
  virtual void scan(std::span<const Series> series, const Range &range, PointVisitor &visitor) = 0;

  // Returns one sentence about the damaged parts that were omitted since the last call, with the remedy; "" if there are none.
  virtual std::string take_damage() { return {}; }

  // Reads the parts of stacks in the range, in order of time. For a window that is partly in the range, the length and each
  // number are reduced in proportion, and a number is then not a count. The parts of ranges that divide a range add up to it
  // exactly. Ignores `metrics` of the selection.
  void stacks(const Selection &selection, const std::function<void(const Stack &)> &visitor);
  // Reads the complete stacks of all windows that overlap the range, in order of the windows' ends.
  virtual void whole_stacks(const Selection &selection, const std::function<void(const Stack &)> &visitor) = 0;
  // Reads spans that overlap the range, in order of their start; open spans have no end.
  virtual void spans(const Selection &selection, const std::function<void(const Span &)> &visitor) = 0;
};

// The parts of a batch that were not stored.
struct Refused {
  uint64_t samples = 0;     // samples without a value that can be stored
  uint64_t values = 0;      // values that are not finite, or have no known name; the other values of their samples were stored
  uint64_t stack_ends = 0;  // stacks that are too deep or too long: only their leaf end was stored, below the frame "[truncated]";
                            // the values of such stacks with the same end in a batch were added
};

class StoreWriter {
 public:
  virtual ~StoreWriter() = default;
  // Returns the time of arrival of a batch that is written now.
  virtual int64_t arrival(const core::ClockReading &now) { return now.realtime; }
  // Stores the complete batch, or nothing. `now_ns` is its time of arrival. Of samples of one series with the same time, the
  // last one is stored.
  virtual Refused write(std::span<const atalaya_sample> samples, int64_t now_ns) = 0;
  // Executes a bounded step of retention and compression. Call it after each write. True: there is more work.
  virtual bool maintain(int64_t now_ns) = 0;
};

// Opens the store of a --store value: PATH, sqlite:PATH or clickhouse:http://host:8123/database; for ClickHouse, further
// servers with the same data may follow after commas; "": $ATALAYA_STORE, else atalaya.db in the state folder. A server that
// does not answer within `response_timeout` is an error, because no callback can end a call without data.
std::unique_ptr<Store> open_store(std::string_view text, std::chrono::nanoseconds response_timeout = std::chrono::minutes(1));
// Opens several stores as one: their series, stacks and spans together. "" means the default store, and so does an empty list.
std::unique_ptr<Store> open_store(const std::vector<std::string> &texts,
                                  std::chrono::nanoseconds response_timeout = std::chrono::minutes(1));
// Opens a writer of single spans for use while the agent runs: experiments of an operator, not samples of a pipeline. A missing
// embedded store is created as the sink creates it; a ClickHouse database must have its tables, because only a sink knows their
// servers.
std::unique_ptr<StoreWriter> open_span_writer(std::string_view text, core::NameOf name_of);

}  // namespace atalaya::store
