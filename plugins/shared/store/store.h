// SPDX-License-Identifier: Apache-2.0
// The store as everything else sees it: one interface, several engines, no second way to what is kept.
//
// Threads: an object belongs to one thread at a time; several threads open several. Readers never block a writer, nor it them. Of
// an embedded store each call sees one state, which no write changes meanwhile; in ClickHouse each statement does, and a call may
// be several: scan() is one for each metric. Errors: everything throws store::Error (error.h); its cause says what to do. What a
// callback throws passes through, and the object can be used again: that is also how a limit of time or memory ends a call. Times
// are Unix nanoseconds. A range is (from, to] of the ends of windows.
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

#include "core/base/name_cache.h"
#include "plugins/shared/store/error.h"
#include "plugins/shared/store/identity.h"

namespace atalaya::store {

struct Range {
  int64_t from_ns = std::numeric_limits<int64_t>::min();
  int64_t to_ns = std::numeric_limits<int64_t>::max();
};

// The patterns are the core's (plugins/shared/match/matcher.h): texts, globs, ~regex, !negations; a list is "any of".
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
};

// Points of one series in ascending time, no time twice. Valid during the call only.
struct Points {
  std::span<const int64_t> times_ns, durations_ns;
  std::span<const double> values;
  std::span<const int64_t> counts;  // where the values are counts: the exact ones; else empty
};

// What the store knows of a stretch of a series without reading its points.
struct Summary {
  int64_t count = 0;
  int64_t first_ns = 0, last_ns = 0;  // times of the first and the last point
  double sum = 0, min = 0, max = 0, first = 0, last = 0;
};

// Stretches of time of one length, each behind the other.
struct Steps {
  int64_t length_ns = 0;  // 0: the whole range is one
  int64_t begin_ns = 0;   // the first time of one of them: from 0 to the length
};

class PointVisitor {
 public:
  virtual ~PointVisitor() = default;
  // The steps of which `take` takes every summary. A store that lets a server work asks for these, and no point travels.
  virtual std::optional<Steps> steps() const { return std::nullopt; }
  // Points between first_ns and last_ns, all of them in the range and all of this series in between: true takes the summary in
  // their place; then `points` is not called for them.
  virtual bool take(size_t /*series*/, const Summary &) { return false; }
  virtual void points(size_t series, const Points &) = 0;
  // Points of a step that were rolled up: what is known of them, and in `plain` the one point that stands for them, at the end of
  // their step. Those that came late for the same step may lie beside it.
  virtual void rolled(size_t series, const Summary &, const Points &plain) { points(series, plain); }
  // A part of the store cannot be read; the text names it and the remedy. To go on without that part, do not throw.
  virtual void damaged(const std::string &what) { throw Error(Cause::permanent, what); }
};

struct Field {
  std::string_view name;
  bool is_count = false;
  double value = 0;
  int64_t count = 0;  // the exact value where is_count
};

// Equal texts of one call have equal numbers, and equal tags an equal entity: sums need not look at the texts.
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

  // All sorted. What is listed has been written once; it may have expired since.
  virtual std::vector<std::string> metrics() = 0;
  virtual std::vector<std::string> tag_keys() = 0;
  virtual std::vector<std::string> tag_values(std::string_view key) = 0;

  // By metric, then by tags; at most `limit`: of more, whichever are found first. The range leaves out what surely has no point
  // there: some that stay may have none.
  virtual std::vector<Series> series(const Selection &selection, size_t limit = std::numeric_limits<size_t>::max()) = 0;

  // The points of these series, as `series` returned them; old ones may be rolled up to longer steps. Those of one series come in
  // ascending time, in any number of calls; calls of different series alternate. Memory does not depend on the length of the range.
  virtual void scan(std::span<const Series> series, const Range &range, PointVisitor &visitor) = 0;

  // In order of time. `metrics` of the selection is not used.
  virtual void stacks(const Selection &selection, const std::function<void(const Stack &)> &visitor) = 0;
  // Those that overlap the range, in order of their start; open ones last for ever.
  virtual void spans(const Selection &selection, const std::function<void(const Span &)> &visitor) = 0;
};

// What was not stored of a batch.
struct Refused {
  uint64_t samples = 0;     // had nothing that could be stored
  uint64_t values = 0;      // not finite, or without a known name; the rest of their samples was stored
  uint64_t stack_ends = 0;  // of stacks that are too deep or too long: their leaf end was stored, below the frame
                            // "[truncated]"; numbers of those in a batch that end alike were added
};

class StoreWriter {
 public:
  virtual ~StoreWriter() = default;
  // All of the batch is kept, or nothing. `now_ns` is when it arrived. Of the same series at the same time the last one wins.
  virtual Refused write(std::span<const atalaya_sample> samples, int64_t now_ns) = 0;
  // A bounded step of what is done now and then: retention, compression. Call it after each write. True: there is more to do, if
  // there is time now.
  virtual bool maintain(int64_t now_ns) = 0;
};

// What --store takes: PATH, sqlite:PATH or clickhouse:http://host:8123/database; "": $ATALAYA_STORE, else atalaya.db in the state
// folder.
// What a server has not answered after `patience` is an error: no callback could end a call during which nothing comes.
std::unique_ptr<Store> open_store(std::string_view text, std::chrono::nanoseconds patience = std::chrono::minutes(1));
// Writes single spans beside the agent: what an operator says about a time (experiments), not what a pipeline brings. A store that
// is not there, or is of an older version, is made as a sink would make it; a ClickHouse database has to have its tables, for only
// a sink knows on which servers they belong.
std::unique_ptr<StoreWriter> open_span_writer(std::string_view text, core::NameOf name_of);

}  // namespace atalaya::store
