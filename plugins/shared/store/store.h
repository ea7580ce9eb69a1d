// SPDX-License-Identifier: Apache-2.0
// The interface of the store: several engines, one way to stored data.
//
// Threads: one thread at a time uses an object; several threads open several. Readers and writers never block each other. In an
// embedded store each call reads one snapshot; in ClickHouse each statement does, and a call may need several: scan() has one per
// metric. Errors: everything throws store::Error (error.h); its cause decides the reaction. Exceptions of callbacks pass through,
// and the object stays usable: limits of time and memory end a call this way. Times are Unix nanoseconds. A range is (from, to]: of
// the ends of the windows of points, and of the time of stacks and spans.
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

// Patterns are those of plugins/shared/io/match/matcher.h: texts, globs, ~regex, !negations; a list is "any of".
struct TagFilter {
  std::string key;
  std::vector<std::string> patterns;  // an absent tag passes only if all of them are negated
};
struct Selection {
  std::vector<std::string> metrics;  // patterns of names; none: all. Of spans: patterns of their names
  std::vector<TagFilter> tags;       // all of them hold
  Range range;
};

struct Series {
  int64_t entity = 0, metric_id = 0;  // numbers of this store: for `scan`; equal tags have an equal entity
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
  // Where the part is whole windows: the integral of the values over them, by ns, and their length together.
  std::optional<double> integral = std::nullopt;
  int64_t durations_ns = 0;
};

// Consecutive intervals of one length.
struct Steps {
  int64_t length_ns = 0;  // 0: the whole range is one
  int64_t begin_ns = 0;   // the begin of one interval: from 0 to the length
  Range range;            // summaries are of this range only
  // Summaries are of whole windows, with their integral. Windows that reach over the end of a step or the range, and instants, come
  // as points.
  bool integrals = false;
};

class PointVisitor {
 public:
  virtual ~PointVisitor() = default;
  // The steps whose summaries `take` accepts without exception, for all series of the metric of this one. A store with a server
  // requests these instead of points.
  virtual std::optional<Steps> steps(size_t /*series*/) const { return std::nullopt; }
  // All points of the series between first_ns and last_ns, all in the range. True accepts the summary in their place; then `points`
  // is not called for them.
  virtual bool take(size_t /*series*/, const Summary &) { return false; }
  virtual void points(size_t series, const Points &) = 0;
  // The points of a step that were rolled up: their summary, and in `plain` one point in their place, at the end of the step. Late
  // points of the same step may follow or precede it.
  virtual void rolled(size_t series, const Summary &, const Points &plain) { points(series, plain); }
};

struct Field {
  std::string_view name;
  bool is_count = false;
  double value = 0;
  int64_t count = 0;  // the exact value where is_count
};

// Within a call equal texts have equal numbers and equal tags have equal entities: sums need not compare texts.
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

  virtual std::string name() const = 0;  // for messages: "sqlite:/var/lib/atalaya/atalaya.db"

  // All sorted. They include names whose samples have expired since.
  virtual std::vector<std::string> metrics() = 0;
  // The same metrics with their declarations.
  virtual Catalogue catalogue() = 0;
  virtual std::vector<std::string> tag_keys() = 0;
  virtual std::vector<std::string> tag_values(std::string_view key) = 0;

  // From just before the time of the oldest sample to that of the newest one, of those up to `until_ns`; nothing if there is none.
  // SQLite reads no sample for it: where samples are packed, the end may be as late as `until_ns`. Stacks may count, spans do not.
  virtual std::optional<Range> extent(int64_t until_ns) = 0;

  // When the families of the hosts were collected, of a range that contains this one. No sample before the first time, or after
  // the last one, is in the store.
  virtual std::vector<CollectedRow> collected(const Range &range) = 0;

  // By metric, then by tags; at most `limit`, those found first. The range excludes series that surely have no point in it; others
  // may have none either.
  virtual std::vector<Series> series(const Selection &selection, size_t limit = std::numeric_limits<size_t>::max()) = 0;

  // The points of these series, as `series` returned them; old ones may be rolled up to longer steps. The points of one series come
  // in ascending time, in any number of calls; calls of different series alternate. Memory does not depend on the range.
  virtual void scan(std::span<const Series> series, const Range &range, PointVisitor &visitor) = 0;

  // One sentence on the damaged parts that were left out since the last call, with the remedy; "" if there are none.
  virtual std::string take_damage() { return {}; }

  // The parts of stacks in the range, in order of time: of a window that the range cuts, a part of its length and of each number,
  // which is no count then. Parts of ranges that divide a range sum to it, exactly. `metrics` of the selection is not used.
  void stacks(const Selection &selection, const std::function<void(const Stack &)> &visitor);
  // The same stacks whole, of all windows that overlap the range, in order of the windows' ends.
  virtual void whole_stacks(const Selection &selection, const std::function<void(const Stack &)> &visitor) = 0;
  // Spans that overlap the range, in order of their start; open spans have no end.
  virtual void spans(const Selection &selection, const std::function<void(const Span &)> &visitor) = 0;
};

// The parts of a batch that were not stored.
struct Refused {
  uint64_t samples = 0;     // without a value that can be stored
  uint64_t values = 0;      // not finite, or without a known name; the other values of their samples were stored
  uint64_t stack_ends = 0;  // stacks that are too deep or too long: their leaf end was stored, below the frame "[truncated]";
                            // stacks of a batch with the same end were added
};

class StoreWriter {
 public:
  virtual ~StoreWriter() = default;
  // The time of arrival of a batch that is written now.
  virtual int64_t arrival(const core::ClockReading &now) { return now.realtime; }
  // Stores all of the batch, or nothing. `now_ns` is its time of arrival. For the same series and time the last sample wins.
  virtual Refused write(std::span<const atalaya_sample> samples, int64_t now_ns) = 0;
  // A bounded step of retention and compression. Call it after each write. True: there is more to do.
  virtual bool maintain(int64_t now_ns) = 0;
};

// The value of --store: PATH, sqlite:PATH or clickhouse:http://host:8123/database, there with other servers that have the same data
// after commas; "": $ATALAYA_STORE, else atalaya.db in the state folder. A server that does not answer within `patience` is an
// error, because no callback can end a call without data.
std::unique_ptr<Store> open_store(std::string_view text, std::chrono::nanoseconds patience = std::chrono::minutes(1));
// Several as one: their series, stacks and spans together. "" stands for the default; none, for it alone.
std::unique_ptr<Store> open_store(const std::vector<std::string> &texts,
                                  std::chrono::nanoseconds patience = std::chrono::minutes(1));
// Writes single spans while the agent runs: experiments of an operator, not samples of a pipeline. A missing embedded store is
// created, as the sink creates it; a ClickHouse database must have its tables, because only
// a sink knows on which servers they belong.
std::unique_ptr<StoreWriter> open_span_writer(std::string_view text, core::NameOf name_of);

}  // namespace atalaya::store
