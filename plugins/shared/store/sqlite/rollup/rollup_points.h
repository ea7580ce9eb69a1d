// SPDX-License-Identifier: Apache-2.0
// Rolled points: the summary of the points of a step replaces them. Their bytes are those of a chunk with up to nine columns
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
  int64_t first_ns = 0, last_ns = 0;  // times of the first and the last point in the step
  int64_t duration_ns = 0;            // sum of the durations of the points
  int64_t count = 0;
  Number sum, min, max, first, last;
  double average = 0;  // weighted by the durations, if the points have some
};

// Returns the end of the step that contains the time. Steps are (from, to], aligned to the epoch, and named by their end.
int64_t end_of_step(int64_t time_ns, int64_t every_ns);

// Returns the time of a rolled point: the end of its step; for a single point, the time of that point.
inline int64_t time_of(const RolledPoint &point) {
  return point.count == 1 ? point.last_ns : point.time_ns;
}
Summary summary_of(const RolledPoint &point);
// Returns the value of the metric in a window with the length of the step: the sum of a delta, the last value of a total, else
// the average.
Number plain_value(const RolledPoint &point, Kind kind);

// The points of an entity while they are converted to longer steps.
class RolledColumns {
 public:
  explicit RolledColumns(int64_t every_ns) : every_ns_(every_ns) {}

  // Adds the points of a chunk, or of a rolled chunk. False: it is damaged, and these columns must not be used.
  bool add_chunk(ChunkReader &reader);
  bool add_rolled(ChunkReader &reader);
  // Adds points whose steps are not longer.
  void add(const RolledColumns &other);

  int64_t every_ns() const { return every_ns_; }
  int64_t values() const { return values_; }  // number of added values
  int64_t end_after(int64_t time_ns) const;   // end of the first step that ends after the time; INT64_MAX: there is none
  int64_t first_after(int64_t end_ns) const;  // time of the first point in the steps after this end
  int64_t last_end() const;                   // end of the last step
  // Returns the columns of a rolled chunk, by metric: the points from `from_ns` to before `to_ns`.
  std::vector<Column> columns(int64_t from_ns, int64_t to_ns) const;

 private:
  struct Series {
    std::map<int64_t, RolledPoint> points;  // points by the end of their step
    uint8_t decimals = 0;                   // decimals of all values; kNoDecimals: some are not short decimals
  };

  void put(Series &series, const RolledPoint &point);

  int64_t every_ns_;
  int64_t values_ = 0;
  std::map<int64_t, Series> series_;  // points by metric
};

// Returns the metrics of an open rolled chunk, in ascending order.
std::vector<int64_t> rolled_metrics(const ChunkReader &reader);
// Reads the points of a metric in order of time; none if the chunk has none. False: the chunk is damaged.
bool read_rolled(ChunkReader &reader, int64_t metric, std::vector<RolledPoint> &points);

}  // namespace atalaya::store
