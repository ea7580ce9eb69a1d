// SPDX-License-Identifier: Apache-2.0
// Rolled points: the summary of the points of a step, in their place. Their bytes are those of a chunk with up to nine columns
// a metric. Its times are the ends of the steps, and its durations those of all samples of a step together. The number of a
// column is the metric id times 16, plus:
//   0  minimum
//   1  count of samples; left out if it is 1
//   2  ns from the last sample to the end of the step; left out if it is 0
//   3  ns from the first sample to the last; left out if it is 0
//   4  sum, rounded to the decimals of the samples; left out if it is minimum x count
//   5  maximum; left out if it is the minimum
//   6  first; left out if it is the minimum
//   7  last; left out if it is the first
//   8  average by durations; left out if it is sum / count
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plugins/shared/store/catalogue.h"
#include "plugins/shared/store/sqlite/chunks/chunk.h"
#include "plugins/shared/store/sqlite/chunks/chunk_reader.h"
#include "plugins/shared/store/sqlite/rows/fields.h"
#include "plugins/shared/store/store.h"

namespace atalaya::store {

struct RolledPoint {
  int64_t time_ns = 0;                // the end of the step
  int64_t first_ns = 0, last_ns = 0;  // of the points in it
  int64_t duration_ns = 0;            // of them together
  int64_t count = 0;
  Number sum, min, max, first, last;
  double average = 0;  // by their durations, where they have some
};

// The steps are (from, to], aligned to the epoch, and named by their end.
int64_t end_of_step(int64_t time_ns, int64_t every_ns);

// Its time: the end of its step; the own time of a single point.
inline int64_t time_of(const RolledPoint &point) {
  return point.count == 1 ? point.last_ns : point.time_ns;
}
Summary summary_of(const RolledPoint &point);
// The value of the metric in a window of that length: the sum of a delta, the last of a total, else the average.
Number plain_value(const RolledPoint &point, Kind kind);

// The points of an entity on their way to longer steps.
class RolledColumns {
 public:
  explicit RolledColumns(int64_t every_ns) : every_ns_(every_ns) {}

  // The points of a chunk, or of a rolled one. False: it is damaged, and these columns are of no use.
  bool add_chunk(ChunkReader &reader);
  bool add_rolled(ChunkReader &reader);
  // Those of steps that are not longer.
  void add(const RolledColumns &other);

  int64_t every_ns() const { return every_ns_; }
  int64_t values() const { return values_; }  // that were added
  int64_t end_after(int64_t time_ns) const;   // of the first step that ends after it; INT64_MAX: none does
  int64_t first_after(int64_t end_ns) const;  // time of the first point in those steps
  int64_t last_end() const;                   // of the last step
  // The columns of a rolled chunk, of the points from one time to before another, by metric.
  std::vector<Column> columns(int64_t from_ns, int64_t to_ns) const;

 private:
  struct Series {
    std::map<int64_t, RolledPoint> points;  // by the end of their step
    uint8_t decimals = 0;                   // of all of the values; kNoDecimals: some are no short decimals
  };

  void put(Series &series, const RolledPoint &point);

  int64_t every_ns_;
  int64_t values_ = 0;
  std::map<int64_t, Series> series_;  // by metric
};

// Of a rolled chunk that is open. Its metrics, ascending.
std::vector<int64_t> rolled_metrics(const ChunkReader &reader);
// The points of a metric, in order of time; none where the chunk has none. False: it is damaged.
bool read_rolled(ChunkReader &reader, int64_t metric, std::vector<RolledPoint> &points);

}  // namespace atalaya::store
