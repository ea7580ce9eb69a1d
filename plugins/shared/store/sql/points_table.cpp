// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sql/points_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/shared/store/catalogue.h"
#include "plugins/shared/store/sqlite/chunks/chunk_reader.h"
#include "plugins/shared/store/sqlite/chunks/pool.h"
#include "plugins/shared/store/sqlite/rollup/rollup_points.h"
#include "plugins/shared/store/sqlite/rows/block.h"
#include "plugins/shared/store/sqlite/rows/fields.h"
#include "plugins/shared/store/sqlite/schema.h"

namespace atalaya::store {
namespace {

constexpr int64_t kMillisecond = 1'000'000;

// From `count` on: of rolled points; else NULL.
constexpr const char *kTable =
    "CREATE TABLE x(time INTEGER, metric INTEGER, entity INTEGER, value, count INTEGER, sum, min, max, first, last)";
enum class TableColumn { time, metric, entity, value, count, sum, min, max, first, last };

constexpr const char *kView =
    "CREATE TEMP VIEW IF NOT EXISTS points AS SELECT * FROM main.points UNION ALL "
    "SELECT p.time, m.name, e.host, e.pid, e.process, e.tags, p.value FROM atalaya_chunk_points p "
    "JOIN main.metrics m ON m.id = p.metric JOIN main.entities e ON e.id = p.entity; "
    "CREATE TEMP VIEW IF NOT EXISTS rolled_points AS "
    "SELECT p.time, m.name AS metric, e.host, e.pid, e.process, e.tags, p.value, p.count, p.sum, p.min, p.max, p.first, p.last "
    "FROM atalaya_chunk_points p JOIN main.metrics m ON m.id = p.metric JOIN main.entities e ON e.id = p.entity "
    "WHERE p.count IS NOT NULL";

constexpr const char *kChunks =
    "SELECT id, entity, first_ns, last_ns, head, data, 0 FROM main.chunks WHERE last_ns >= ?2 AND first_ns <= ?3 "
    "AND id < coalesce((SELECT min(chunk) FROM main.unfinished), 9223372036854775807) ";
constexpr const char *kRolled =
    "SELECT id, entity, first_ns, last_ns, head, data, 1 FROM main.rolled WHERE last_ns >= ?2 AND first_ns <= ?3 ";
constexpr const char *kOfAll = "AND ?1 IS NULL ";
constexpr const char *kOfEntity = "AND entity IN (?1, -1 - (?1 >> 10)) ";  // with its pools
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

// Which bounds a scan has: bits of sqlite3_index_info::idxNum, in the order of their arguments.
enum Bound : unsigned { of_entity = 1, of_metric = 2, above = 4, below = 8 };

struct Finalize {
  void operator()(sqlite3_stmt *statement) const { sqlite3_finalize(statement); }
};
using Prepared = std::unique_ptr<sqlite3_stmt, Finalize>;

Prepared prepare(sqlite3 *database, const char *sql) {
  sqlite3_stmt *statement = nullptr;
  sqlite3_prepare_v2(database, sql, -1, &statement, nullptr);
  return Prepared(statement);
}

std::string_view blob(sqlite3_stmt *statement, int column) {
  const auto *data = static_cast<const char *>(sqlite3_column_blob(statement, column));
  return data == nullptr ? std::string_view{}
                         : std::string_view(data, static_cast<size_t>(sqlite3_column_bytes(statement, column)));
}

struct Table : sqlite3_vtab {
  sqlite3 *database = nullptr;

  int fail(int code, const std::string &text) {
    sqlite3_free(zErrMsg);
    zErrMsg = sqlite3_mprintf("%s", text.c_str());
    return code;
  }
  int fail() { return fail(sqlite3_errcode(database), sqlite3_errmsg(database)); }
};

// From chunk to chunk, in it from metric to metric, in that from point to point.
class Cursor : public sqlite3_vtab_cursor {
 public:
  explicit Cursor(Table &table) : sqlite3_vtab_cursor{&table}, table_(table) {}

  int filter(unsigned bounds, sqlite3_value **arguments) {
    read_bounds(bounds, arguments);
    at_end_ = false;
    metrics_.clear();
    const std::string which = entity_ ? kOfEntity : kOfAll;
    chunks_ = prepare(table_.database, (kChunks + which + "UNION ALL " + kRolled + which).c_str());
    if (!chunks_) return table_.fail();
    rows_ = prepare(table_.database, kRowsBeside);
    newer_ = prepare(table_.database, kChunksBeside);
    kinds_ = prepare(table_.database, kKind);
    if (!rows_ || !newer_ || !kinds_) return table_.fail();
    members_.clear();
    if (entity_) sqlite3_bind_int64(chunks_.get(), 1, *entity_);
    sqlite3_bind_int64(chunks_.get(), 2, nanoseconds(least_ms_ - 1));
    sqlite3_bind_int64(chunks_.get(), 3, nanoseconds(most_ms_ + 1));
    at_metric_ = point_ = points_end_ = 0;
    return settle();
  }
  int next() {
    ++point_;
    ++number_;
    return settle();
  }
  bool at_end() const { return at_end_; }
  int64_t number() const { return number_; }

  void column(sqlite3_context *context, TableColumn column) const {
    switch (column) {
      case TableColumn::time:
        return sqlite3_result_int64(context, time_ns() / kMillisecond);
      case TableColumn::metric:
        return sqlite3_result_int64(context, metrics_[at_metric_]);
      case TableColumn::entity:
        return sqlite3_result_int64(context, chunk_entity_);
      case TableColumn::value:
        return give(context, is_rolled_ ? plain_value(rolled_[point_], kind_) : values_.at(point_));
      default:
        if (is_rolled_) give_rolled(context, rolled_[point_], column);  // else NULL
    }
  }

 private:
  static void give(sqlite3_context *context, const Number &value) {
    if (value.is_count) {
      sqlite3_result_int64(context, value.count);
    } else {
      sqlite3_result_double(context, value.real);
    }
  }
  static void give_rolled(sqlite3_context *context, const RolledPoint &point, TableColumn column) {
    switch (column) {
      case TableColumn::count:
        return sqlite3_result_int64(context, point.count);
      case TableColumn::sum:
        return give(context, point.sum);
      case TableColumn::min:
        return give(context, point.min);
      case TableColumn::max:
        return give(context, point.max);
      case TableColumn::first:
        return give(context, point.first);
      default:
        return give(context, point.last);
    }
  }
  int64_t time_ns() const { return is_rolled_ ? time_of(rolled_[point_]) : times_->times_ns[point_]; }

  static int64_t nanoseconds(int64_t ms) {
    constexpr int64_t most = INT64_MAX / kMillisecond;
    return std::clamp(ms, -most, most) * kMillisecond;
  }

  // A bound that is no number bounds nothing: SQLite checks every row again.
  void read_bounds(unsigned bounds, sqlite3_value **arguments) {
    entity_ = metric_ = std::nullopt;
    least_ms_ = INT64_MIN / 2;
    most_ms_ = INT64_MAX / 2;
    const auto take = [&](Bound bound) -> sqlite3_value * {
      if ((bounds & bound) == 0) return nullptr;
      sqlite3_value *value = *arguments++;
      const int type = sqlite3_value_type(value);
      return type == SQLITE_INTEGER || type == SQLITE_FLOAT ? value : nullptr;
    };
    const auto milliseconds = [](sqlite3_value *value) {
      constexpr double most = 9e18 / kMillisecond;
      return static_cast<int64_t>(std::clamp(sqlite3_value_double(value), -most, most));
    };
    if (auto *value = take(of_entity)) entity_ = sqlite3_value_int64(value);
    if (auto *value = take(of_metric)) metric_ = sqlite3_value_int64(value);
    if (auto *value = take(above)) least_ms_ = milliseconds(value) - 1;
    if (auto *value = take(below)) most_ms_ = milliseconds(value) + 1;
  }

  // To the next point that counts, if this one does not.
  int settle() {
    for (;;) {
      for (; point_ < points_end_; ++point_)
        if (is_wanted(time_ns())) return SQLITE_OK;
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
  bool is_wanted(int64_t time_ns) const {
    const int64_t ms = time_ns / kMillisecond;
    return ms >= least_ms_ && ms <= most_ms_ && (replaced_.empty() || !replaced_.contains({metrics_[at_metric_], time_ns}));
  }

  int open_chunk() {
    sqlite3_stmt *row = chunks_.get();
    chunk_ = sqlite3_column_int64(row, 0);
    chunk_entity_ = sqlite3_column_int64(row, 1);
    is_rolled_ = sqlite3_column_int(row, 6) != 0;
    if (!is_rolled_ && chunk_entity_ < 0) return open_pool(blob(row, 4), blob(row, 5));
    return open_bytes(blob(row, 4), blob(row, 5));
  }
  int open_bytes(std::string_view head, std::string_view data) {
    sqlite3_stmt *row = chunks_.get();
    at_metric_ = point_ = points_end_ = 0;
    metrics_.clear();
    if (!reader_.open(head)) return damaged();
    list_metrics();
    if (metrics_.empty()) return SQLITE_OK;
    reader_.set_data(data);
    replaced_.clear();
    if (!is_rolled_ && !find_replaced(sqlite3_column_int64(row, 2), sqlite3_column_int64(row, 3))) return table_.fail();
    return open_metric() ? SQLITE_OK : damaged();
  }
  int open_pool(std::string_view head, std::string_view data) {
    at_metric_ = point_ = points_end_ = 0;
    metrics_.clear();
    if (!pool_.open(head)) return damaged();
    for (const PoolReader::Member &member : pool_.members())
      if (!entity_ || member.entity == *entity_) members_.push_back(member.entity);
    return members_.empty() || pool_.read(data) ? SQLITE_OK : damaged();
  }
  int open_member() {
    const PoolReader::Member *member = pool_.find(members_.back());
    members_.pop_back();
    chunk_entity_ = member->entity;
    if (const int opened = open_bytes(member->head, member->data); opened != SQLITE_OK || metrics_.empty()) return opened;
    return find_newer() ? SQLITE_OK : table_.fail();
  }
  void list_metrics() {
    if (is_rolled_) {
      metrics_ = rolled_metrics(reader_);
    } else {
      for (const Part &part : reader_.parts()) metrics_.push_back(part.metric);
    }
    if (metric_) std::erase_if(metrics_, [&](int64_t metric) { return metric != *metric_; });
  }
  bool open_metric() {
    const int64_t metric = metrics_[at_metric_];
    point_ = 0;
    if (is_rolled_) {
      if (!read_rolled(reader_, metric, rolled_)) return false;
      points_end_ = rolled_.size();
      kind_ = kind_of_metric(metric);
      return true;
    }
    const Part *part = reader_.find(metric);
    times_ = reader_.times(*part);
    if (times_ == nullptr || !reader_.values(*part, values_)) return false;
    points_end_ = times_->times_ns.size();
    return true;
  }
  Kind kind_of_metric(int64_t metric) {
    sqlite3_reset(kinds_.get());
    sqlite3_bind_int64(kinds_.get(), 1, metric);
    return sqlite3_step(kinds_.get()) == SQLITE_ROW ? kind_of(blob(kinds_.get(), 0)) : Kind::unknown;
  }
  bool find_replaced(int64_t first_ns, int64_t last_ns) {
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
  bool find_newer() {
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
  int damaged() {
    const std::string id = std::to_string(chunk_);
    return table_.fail(SQLITE_CORRUPT, (is_rolled_ ? "rolled chunk " : "chunk ") + id +
                                           " is damaged; end the agent, and run `atalaya store repair`");
  }

  Table &table_;
  std::optional<int64_t> entity_, metric_;
  int64_t least_ms_ = 0, most_ms_ = 0;
  Prepared chunks_, rows_, newer_, kinds_;
  bool at_end_ = true;
  int64_t number_ = 0;
  int64_t chunk_ = 0, chunk_entity_ = 0;
  bool is_rolled_ = false;
  ChunkReader reader_, newer_reader_;
  PoolReader pool_;
  std::vector<int64_t> members_;  // of the pool, that are still to be read
  std::vector<int64_t> metrics_;  // of the chunk
  size_t at_metric_ = 0;
  const Times *times_ = nullptr;
  Values values_;
  std::vector<RolledPoint> rolled_;
  Kind kind_{};
  size_t point_ = 0, points_end_ = 0;
  std::set<std::pair<int64_t, int64_t>> replaced_;  // metric and time
};

// No exception may pass through SQLite.
template <class Action>
int guarded(Action &&action) {
  try {
    return action();
  } catch (const std::bad_alloc &) {
    return SQLITE_NOMEM;
  } catch (...) {
    return SQLITE_ERROR;
  }
}

Cursor &cursor_of(sqlite3_vtab_cursor *cursor) {
  return *static_cast<Cursor *>(cursor);
}

int connect(sqlite3 *database, void *, int, const char *const *, sqlite3_vtab **result, char **) {
  return guarded([&] {
    const int code = sqlite3_declare_vtab(database, kTable);
    if (code != SQLITE_OK) return code;
    auto table = std::make_unique<Table>();
    table->database = database;
    *result = table.release();
    return SQLITE_OK;
  });
}

int disconnect(sqlite3_vtab *table) {
  delete static_cast<Table *>(table);
  return SQLITE_OK;
}

// The place of a bound's argument, and how much of the chunks it leaves.
int best_index(sqlite3_vtab *, sqlite3_index_info *info) {
  struct Use {
    Bound bound;
    double share;
    int constraint = -1;
  };
  std::array<Use, 4> uses = {{{of_entity, 0.001}, {of_metric, 0.2}, {above, 0.3}, {below, 0.6}}};
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto &constraint = info->aConstraint[i];
    if (constraint.usable == 0) continue;
    const bool equal = constraint.op == SQLITE_INDEX_CONSTRAINT_EQ;
    const bool greater = constraint.op == SQLITE_INDEX_CONSTRAINT_GT || constraint.op == SQLITE_INDEX_CONSTRAINT_GE;
    const bool less = constraint.op == SQLITE_INDEX_CONSTRAINT_LT || constraint.op == SQLITE_INDEX_CONSTRAINT_LE;
    const auto column = static_cast<TableColumn>(constraint.iColumn);
    if (column == TableColumn::entity && equal) uses[0].constraint = i;
    if (column == TableColumn::metric && equal) uses[1].constraint = i;
    if (column == TableColumn::time && (equal || greater)) uses[2].constraint = i;
    // An argument can be bound once; the other half of "equal" is checked by SQLite.
    if (column == TableColumn::time && less) uses[3].constraint = i;
  }
  double cost = 1e7;
  unsigned bounds = 0;
  int arguments = 0;
  for (const Use &use : uses) {
    if (use.constraint < 0) continue;
    info->aConstraintUsage[use.constraint].argvIndex = ++arguments;
    bounds |= use.bound;
    cost *= use.share;
  }
  info->idxNum = static_cast<int>(bounds);
  info->estimatedCost = cost;
  info->estimatedRows = static_cast<sqlite3_int64>(cost);
  return SQLITE_OK;
}

int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **result) {
  return guarded([&] {
    *result = new Cursor(*static_cast<Table *>(table));
    return SQLITE_OK;
  });
}

int close_cursor(sqlite3_vtab_cursor *cursor) {
  delete static_cast<Cursor *>(cursor);
  return SQLITE_OK;
}

int filter(sqlite3_vtab_cursor *cursor, int bounds, const char *, int, sqlite3_value **arguments) {
  return guarded([&] { return cursor_of(cursor).filter(static_cast<unsigned>(bounds), arguments); });
}

int next(sqlite3_vtab_cursor *cursor) {
  return guarded([&] { return cursor_of(cursor).next(); });
}

int at_end(sqlite3_vtab_cursor *cursor) {
  return cursor_of(cursor).at_end() ? 1 : 0;
}

int column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int index) {
  cursor_of(cursor).column(context, static_cast<TableColumn>(index));
  return SQLITE_OK;
}

int row_id(sqlite3_vtab_cursor *cursor, sqlite3_int64 *result) {
  *result = cursor_of(cursor).number();
  return SQLITE_OK;
}

constexpr sqlite3_module make_module() {
  sqlite3_module module{};
  module.xConnect = connect;  // without xCreate: the table is there without being created
  module.xBestIndex = best_index;
  module.xDisconnect = disconnect;
  module.xOpen = open_cursor;
  module.xClose = close_cursor;
  module.xFilter = filter;
  module.xNext = next;
  module.xEof = at_end;
  module.xColumn = column;
  module.xRowid = row_id;
  return module;
}
constexpr sqlite3_module kModule = make_module();

bool is_store(sqlite3 *database) {
  const Prepared application = prepare(database, "PRAGMA main.application_id");
  if (!application || sqlite3_step(application.get()) != SQLITE_ROW || sqlite3_column_int64(application.get(), 0) != kApplicationId)
    return false;
  const Prepared version = prepare(database, "PRAGMA main.user_version");
  if (!version || sqlite3_step(version.get()) != SQLITE_ROW) return false;
  const int64_t number = sqlite3_column_int64(version.get(), 0);
  return number >= kOldestSchemaVersion && number <= kSchemaVersion;
}

}  // namespace

core::Status register_points(sqlite3 *database) {
  int code = sqlite3_create_module_v2(database, "atalaya_chunk_points", &kModule, nullptr, nullptr);
  if (code == SQLITE_OK && is_store(database)) code = sqlite3_exec(database, kView, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return core::Error{sqlite3_errmsg(database)};
  return core::Done{};
}

}  // namespace atalaya::store
