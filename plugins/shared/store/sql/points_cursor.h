// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/shared/store/catalogue.h"
#include "plugins/shared/store/sql/sqlite_api.h"
#include "plugins/shared/store/sqlite/chunks/chunk_reader.h"
#include "plugins/shared/store/sqlite/chunks/pool.h"
#include "plugins/shared/store/sqlite/rollup/rollup_points.h"
#include "plugins/shared/store/sqlite/rows/fields.h"

namespace atalaya::store {

// Columns of the table. Those from `count` on are of rolled points; for other points they are NULL.
enum class TableColumn { time, metric, entity, value, count, sum, min, max, first, last };

// The bounds of a scan: bits of sqlite3_index_info::idxNum, in the order of their arguments.
enum Bound : unsigned { of_entity = 1, of_metric = 2, above = 4, below = 8 };

struct PointsTable : sqlite3_vtab {
  sqlite3 *database = nullptr;

  int fail(int code, const std::string &text);
  int fail() { return fail(sqlite3_errcode(database), sqlite3_errmsg(database)); }
};

// A scan of the table: from chunk to chunk, in it from metric to metric, in that from point to point.
class PointsCursor : public sqlite3_vtab_cursor {
 public:
  explicit PointsCursor(PointsTable &table) : sqlite3_vtab_cursor{&table}, table_(table) {}

  int filter(unsigned bounds, sqlite3_value **arguments);
  int next();
  bool at_end() const { return at_end_; }
  int64_t number() const { return number_; }

  void column(sqlite3_context *context, TableColumn column) const;

 private:
  static void set_result(sqlite3_context *context, const Number &value);
  static void set_rolled_result(sqlite3_context *context, const RolledPoint &point, TableColumn column);
  int64_t time_ns() const { return is_rolled_ ? time_of(rolled_[point_]) : times_->times_ns[point_]; }

  static int64_t nanoseconds(int64_t ms);

  // Ignores bounds that are not numbers, because SQLite checks every row again.
  void read_bounds(unsigned bounds, sqlite3_value **arguments);

  // Moves to the next point within the bounds, if this one is not.
  int settle();
  bool is_requested(int64_t time_ns) const;

  int open_chunk();
  int open_chunk(std::string_view data);  // opens the data of a chunk whose head is open
  int open_pool(std::string_view head, std::string_view data);
  int open_member();
  void list_metrics();
  bool open_metric();
  Kind metric_kind(int64_t metric);
  bool find_replaced(int64_t first_ns, int64_t last_ns);
  bool find_newer();
  int damaged();

  PointsTable &table_;
  std::optional<int64_t> entity_, metric_;
  int64_t min_ms_ = 0, max_ms_ = 0;
  Prepared chunks_, rows_, newer_, kinds_;
  bool at_end_ = true;
  int64_t number_ = 0;
  int64_t chunk_ = 0, chunk_entity_ = 0;
  bool is_rolled_ = false;
  ChunkReader reader_, newer_reader_;
  PoolReader pool_;
  std::vector<int64_t> members_;  // members of the pool that are not read yet
  std::vector<int64_t> metrics_;  // ids of the metrics of the chunk
  size_t at_metric_ = 0;
  const Times *times_ = nullptr;
  Values values_;
  std::vector<RolledPoint> rolled_;
  Kind kind_{};
  size_t point_ = 0, points_end_ = 0;
  std::set<std::pair<int64_t, int64_t>> replaced_;  // metric and time of points that newer ones replace
};

}  // namespace atalaya::store
