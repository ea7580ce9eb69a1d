// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sql/points_cursor.h"

#include <algorithm>

#include "plugins/shared/store/sqlite/rows/block.h"

namespace atalaya::store {
namespace {

constexpr int64_t kMillisecond = 1'000'000;

constexpr const char *kChunks =
    "SELECT id, entity, first_ns, last_ns, head, data, 0 FROM main.chunks WHERE last_ns >= ?2 AND first_ns <= ?3 "
    "AND id < coalesce((SELECT min(chunk) FROM main.unfinished), 9223372036854775807) ";
constexpr const char *kRolled =
    "SELECT id, entity, first_ns, last_ns, head, data, 1 FROM main.rolled WHERE last_ns >= ?2 AND first_ns <= ?3 ";
constexpr const char *kOfAll = "AND ?1 IS NULL ";
constexpr const char *kEntityFilter = "AND entity IN (?1, -1 - (?1 >> 10)) ";  // with its pools
static_assert(kPoolBits == 10);
constexpr const char *kKind = "SELECT kind FROM main.metrics WHERE id = ?1";
// Rows came later than the chunk.
constexpr const char *kRowsBeside =
    "SELECT w.time_ns, s.fields FROM main.windows w CROSS JOIN main.samples s ON s.window = w.id AND s.block = "
    "(SELECT p.block FROM main.samples p WHERE p.window = w.id AND p.block <= ?1 >> 5 ORDER BY p.block DESC LIMIT 1) "
    "WHERE w.packed = 0 AND w.time_ns BETWEEN ?2 AND ?3";
static_assert(kBlockBits == 5);
// Chunks of an entity are newer than the points of its pools.
constexpr const char *kChunksBeside =
    "SELECT head, data FROM main.chunks WHERE entity = ?1 AND last_ns >= ?2 AND first_ns <= ?3 "
    "AND id < coalesce((SELECT min(chunk) FROM main.unfinished), 9223372036854775807)";

}  // namespace

int PointsTable::fail(int code, const std::string &text) {
  sqlite3_free(zErrMsg);
  zErrMsg = sqlite3_mprintf("%s", text.c_str());
  return code;
}

int PointsCursor::filter(unsigned bounds, sqlite3_value **arguments) {
  read_bounds(bounds, arguments);
  at_end_ = false;
  metrics_.clear();
  const std::string which = entity_ ? kEntityFilter : kOfAll;
  chunks_ = prepare(table_.database, (kChunks + which + "UNION ALL " + kRolled + which).c_str());
  if (!chunks_) return table_.fail();
  rows_ = prepare(table_.database, kRowsBeside);
  newer_ = prepare(table_.database, kChunksBeside);
  kinds_ = prepare(table_.database, kKind);
  if (!rows_ || !newer_ || !kinds_) return table_.fail();
  members_.clear();
  if (entity_) sqlite3_bind_int64(chunks_.get(), 1, *entity_);
  sqlite3_bind_int64(chunks_.get(), 2, nanoseconds(min_ms_ - 1));
  sqlite3_bind_int64(chunks_.get(), 3, nanoseconds(max_ms_ + 1));
  at_metric_ = point_ = points_end_ = 0;
  return settle();
}

int PointsCursor::next() {
  ++point_;
  ++number_;
  return settle();
}

void PointsCursor::column(sqlite3_context *context, TableColumn column) const {
  switch (column) {
    case TableColumn::time:
      return sqlite3_result_int64(context, time_ns() / kMillisecond);
    case TableColumn::metric:
      return sqlite3_result_int64(context, metrics_[at_metric_]);
    case TableColumn::entity:
      return sqlite3_result_int64(context, chunk_entity_);
    case TableColumn::value:
      return set_result(context, is_rolled_ ? plain_value(rolled_[point_], kind_) : values_.at(point_));
    default:
      if (is_rolled_) set_rolled_result(context, rolled_[point_], column);  // else NULL
  }
}

void PointsCursor::set_result(sqlite3_context *context, const Number &value) {
  if (value.is_count) {
    sqlite3_result_int64(context, value.count);
  } else {
    sqlite3_result_double(context, value.real);
  }
}

void PointsCursor::set_rolled_result(sqlite3_context *context, const RolledPoint &point, TableColumn column) {
  switch (column) {
    case TableColumn::count:
      return sqlite3_result_int64(context, point.count);
    case TableColumn::sum:
      return set_result(context, point.sum);
    case TableColumn::min:
      return set_result(context, point.min);
    case TableColumn::max:
      return set_result(context, point.max);
    case TableColumn::first:
      return set_result(context, point.first);
    default:
      return set_result(context, point.last);
  }
}

int64_t PointsCursor::nanoseconds(int64_t ms) {
  constexpr int64_t maximum = INT64_MAX / kMillisecond;
  return std::clamp(ms, -maximum, maximum) * kMillisecond;
}

void PointsCursor::read_bounds(unsigned bounds, sqlite3_value **arguments) {
  entity_ = metric_ = std::nullopt;
  min_ms_ = INT64_MIN / 2;
  max_ms_ = INT64_MAX / 2;
  const auto take = [&](Bound bound) -> sqlite3_value * {
    if ((bounds & bound) == 0) return nullptr;
    sqlite3_value *value = *arguments++;
    const int type = sqlite3_value_type(value);
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT ? value : nullptr;
  };
  const auto milliseconds = [](sqlite3_value *value) {
    constexpr double maximum = 9e18 / kMillisecond;
    return static_cast<int64_t>(std::clamp(sqlite3_value_double(value), -maximum, maximum));
  };
  if (auto *value = take(of_entity)) entity_ = sqlite3_value_int64(value);
  if (auto *value = take(of_metric)) metric_ = sqlite3_value_int64(value);
  if (auto *value = take(above)) min_ms_ = milliseconds(value) - 1;
  if (auto *value = take(below)) max_ms_ = milliseconds(value) + 1;
}

int PointsCursor::settle() {
  for (;;) {
    for (; point_ < points_end_; ++point_)
      if (is_requested(time_ns())) return SQLITE_OK;
    if (at_metric_ + 1 < metrics_.size()) {
      ++at_metric_;
      if (!open_metric()) return damaged();
      continue;
    }
    if (!members_.empty()) {
      if (const int opened = open_member(); opened != SQLITE_OK) return opened;
      continue;
    }
    const int code = sqlite3_step(chunks_.get());
    if (code == SQLITE_DONE) {
      at_end_ = true;
      return SQLITE_OK;
    }
    if (code != SQLITE_ROW) return table_.fail();
    if (const int opened = open_chunk(); opened != SQLITE_OK) return opened;
  }
}

bool PointsCursor::is_requested(int64_t time_ns) const {
  const int64_t ms = time_ns / kMillisecond;
  return ms >= min_ms_ && ms <= max_ms_ && (replaced_.empty() || !replaced_.contains({metrics_[at_metric_], time_ns}));
}

int PointsCursor::open_chunk() {
  sqlite3_stmt *row = chunks_.get();
  chunk_ = sqlite3_column_int64(row, 0);
  chunk_entity_ = sqlite3_column_int64(row, 1);
  is_rolled_ = sqlite3_column_int(row, 6) != 0;
  if (!is_rolled_ && chunk_entity_ < 0) return open_pool(blob(row, 4), blob(row, 5));
  return reader_.open(blob(row, 4)) ? open_chunk(blob(row, 5)) : damaged();
}

int PointsCursor::open_chunk(std::string_view data) {
  sqlite3_stmt *row = chunks_.get();
  at_metric_ = point_ = points_end_ = 0;
  metrics_.clear();
  list_metrics();
  if (metrics_.empty()) return SQLITE_OK;
  reader_.set_data(data);
  replaced_.clear();
  if (!is_rolled_ && !find_replaced(sqlite3_column_int64(row, 2), sqlite3_column_int64(row, 3))) return table_.fail();
  return open_metric() ? SQLITE_OK : damaged();
}

int PointsCursor::open_pool(std::string_view head, std::string_view data) {
  at_metric_ = point_ = points_end_ = 0;
  metrics_.clear();
  if (!pool_.open(head)) return damaged();
  for (const PoolReader::Member &member : pool_.members())
    if (!entity_ || member.entity == *entity_) members_.push_back(member.entity);
  return members_.empty() || pool_.read(data) ? SQLITE_OK : damaged();
}

int PointsCursor::open_member() {
  const PoolReader::Member *member = pool_.find(members_.back());
  members_.pop_back();
  chunk_entity_ = member->entity;
  if (!reader_.open_member(member->head)) return damaged();
  if (const int opened = open_chunk(member->data); opened != SQLITE_OK || metrics_.empty()) return opened;
  return find_newer() ? SQLITE_OK : table_.fail();
}

void PointsCursor::list_metrics() {
  if (is_rolled_) {
    metrics_ = rolled_metrics(reader_);
  } else {
    for (const Part &part : reader_.parts()) metrics_.push_back(part.metric);
  }
  if (metric_) std::erase_if(metrics_, [&](int64_t metric) { return metric != *metric_; });
}

bool PointsCursor::open_metric() {
  const int64_t metric = metrics_[at_metric_];
  point_ = 0;
  if (is_rolled_) {
    if (!read_rolled(reader_, metric, rolled_)) return false;
    points_end_ = rolled_.size();
    kind_ = metric_kind(metric);
    return true;
  }
  const Part *part = reader_.find(metric);
  times_ = reader_.times(*part);
  if (times_ == nullptr || !reader_.values(*part, values_)) return false;
  points_end_ = times_->times_ns.size();
  return true;
}

Kind PointsCursor::metric_kind(int64_t metric) {
  sqlite3_reset(kinds_.get());
  sqlite3_bind_int64(kinds_.get(), 1, metric);
  return sqlite3_step(kinds_.get()) == SQLITE_ROW ? kind_of(blob(kinds_.get(), 0)) : Kind::unknown;
}

bool PointsCursor::find_replaced(int64_t first_ns, int64_t last_ns) {
  sqlite3_stmt *rows = rows_.get();
  sqlite3_reset(rows);
  sqlite3_bind_int64(rows, 1, chunk_entity_);
  sqlite3_bind_int64(rows, 2, first_ns);
  sqlite3_bind_int64(rows, 3, last_ns);
  int code = SQLITE_OK;
  while ((code = sqlite3_step(rows)) == SQLITE_ROW)
    for (BlockReader samples(blob(rows, 1)); samples.next();)
      for (FieldReader fields(samples.fields()); samples.entity() == chunk_entity_ && fields.next();)
        replaced_.emplace(fields.metric(), sqlite3_column_int64(rows, 0));
  return code == SQLITE_DONE;
}

bool PointsCursor::find_newer() {
  sqlite3_stmt *chunks = newer_.get();
  sqlite3_reset(chunks);
  sqlite3_bind_int64(chunks, 1, chunk_entity_);
  sqlite3_bind_int64(chunks, 2, sqlite3_column_int64(chunks_.get(), 2));
  sqlite3_bind_int64(chunks, 3, sqlite3_column_int64(chunks_.get(), 3));
  int code = SQLITE_OK;
  while ((code = sqlite3_step(chunks)) == SQLITE_ROW) {
    if (!newer_reader_.open(blob(chunks, 0))) continue;  // the scan comes to it
    newer_reader_.set_data(blob(chunks, 1));
    for (const Part &part : newer_reader_.parts())
      if (const Times *times = newer_reader_.times(part))
        for (const int64_t time_ns : times->times_ns) replaced_.emplace(part.metric, time_ns);
  }
  return code == SQLITE_DONE;
}

int PointsCursor::damaged() {
  const std::string id = std::to_string(chunk_);
  return table_.fail(SQLITE_CORRUPT,
                     (is_rolled_ ? "rolled chunk " : "chunk ") + id + " is damaged; end the agent, and run `atalaya store repair`");
}

}  // namespace atalaya::store
