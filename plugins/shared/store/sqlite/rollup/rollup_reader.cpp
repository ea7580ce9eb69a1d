// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/rollup/rollup_reader.h"

#include <algorithm>

namespace atalaya::store {

RolledChunks::RolledChunks(Database &database)
    : any_(database.number("SELECT EXISTS (SELECT 1 FROM rolled)") != 0),
      next_(
          database,
          "SELECT id, first_ns, last_ns, head, data FROM rolled WHERE entity = ?1 AND last_ns >= ?2 AND (last_ns > ?2 OR id > ?3) "
          "AND first_ns <= ?4 ORDER BY last_ns, id LIMIT 1") {}

void RolledChunks::seek(int64_t entity, const Range &range) {
  if (!any_) return;
  entity_ = entity;
  range_ = range;
  id_ = INT64_MAX;  // none that ends where the range begins
  last_ns_ = range.from_ns;
  advance();
}

void RolledChunks::advance() {
  has_chunk_ = false;
  next_.each(
      [&](const Row &row) {
        has_chunk_ = true;
        id_ = row.integer(0);
        first_ns_ = row.integer(1);
        last_ns_ = row.integer(2);
        head_ = row.blob(3);
        data_ = row.blob(4);
      },
      entity_, last_ns_, id_, range_.to_ns);
  is_good_ = has_chunk_ && reader_.open(head_);
  reader_.set_data(data_);
}

bool RolledChunks::read(int64_t metric, std::vector<RolledPoint> &points) {
  points.clear();
  return is_good_ && read_rolled(reader_, metric, points);
}

void RolledQueue::add(const std::vector<RolledPoint> &points, const Range &range) {
  points_.erase(points_.begin(), points_.begin() + static_cast<ptrdiff_t>(next_));
  next_ = 0;
  const bool was_empty = points_.empty();
  for (const RolledPoint &point : points)
    if (time_of(point) > range.from_ns && time_of(point) <= range.to_ns) points_.push_back(point);
  // Chunks that a damaged one kept from being joined may overlap.
  if (!was_empty)
    std::stable_sort(points_.begin(), points_.end(),
                     [](const RolledPoint &a, const RolledPoint &b) { return time_of(a) < time_of(b); });
}

}  // namespace atalaya::store
