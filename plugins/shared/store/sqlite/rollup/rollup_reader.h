// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/shared/store/sqlite/chunks/chunk_reader.h"
#include "plugins/shared/store/sqlite/file/database.h"
#include "plugins/shared/store/sqlite/rollup/rollup_points.h"
#include "plugins/shared/store/store.h"

namespace atalaya::store {

// Iterates over the rolled chunks of an entity.
class RolledChunks {
 public:
  explicit RolledChunks(Database &database);

  // Moves to the first chunk with points in the range.
  void seek(int64_t entity, const Range &range);
  // Whether there is a chunk whose first point is not later than this time.
  bool starts_until(int64_t time_ns) const { return has_chunk_ && first_ns_ <= time_ns; }
  int64_t first_ns() const { return first_ns_; }
  int64_t id() const { return id_; }
  // Reads the chunk's points of a metric. False: the chunk is damaged.
  bool read(int64_t metric, std::vector<RolledPoint> &points);
  void advance();

 private:
  const bool any_;
  Statement next_;
  int64_t entity_ = 0, id_ = 0, first_ns_ = 0, last_ns_ = 0;
  Range range_;
  std::string head_, data_;
  bool has_chunk_ = false, is_good_ = false;
  ChunkReader reader_;
};

// Rolled points of a series that the visitor has not received yet, in order of time.
class RolledQueue {
 public:
  // Adds the points that are in the range.
  void add(const std::vector<RolledPoint> &points, const Range &range);
  // Whether there is a point up to this time.
  bool has_until(int64_t time_ns) const { return next_ < points_.size() && next_ns() <= time_ns; }
  int64_t next_ns() const { return time_of(points_[next_]); }
  const RolledPoint &take() { return points_[next_++]; }

 private:
  std::vector<RolledPoint> points_;
  size_t next_ = 0;
};

}  // namespace atalaya::store
