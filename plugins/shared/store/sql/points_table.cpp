// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sql/points_table.h"

#include <array>
#include <memory>
#include <new>

#include "plugins/shared/store/sql/points_cursor.h"
#include "plugins/shared/store/sqlite/file/schema.h"

namespace atalaya::store {
namespace {

// The columns are those of TableColumn.
constexpr const char *kTable =
    "CREATE TABLE x(time INTEGER, metric INTEGER, entity INTEGER, value, count INTEGER, sum, min, max, first, last)";

constexpr const char *kView =
    "CREATE TEMP VIEW IF NOT EXISTS points AS SELECT * FROM main.points UNION ALL "
    "SELECT p.time, m.name, e.host, e.pid, e.process, e.tags, p.value FROM atalaya_chunk_points p "
    "JOIN main.metrics m ON m.id = p.metric JOIN main.entities e ON e.id = p.entity; "
    "CREATE TEMP VIEW IF NOT EXISTS rolled_points AS "
    "SELECT p.time, m.name AS metric, e.host, e.pid, e.process, e.tags, p.value, p.count, p.sum, p.min, p.max, p.first, p.last "
    "FROM atalaya_chunk_points p JOIN main.metrics m ON m.id = p.metric JOIN main.entities e ON e.id = p.entity "
    "WHERE p.count IS NOT NULL";

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

PointsCursor &cursor_of(sqlite3_vtab_cursor *cursor) {
  return *static_cast<PointsCursor *>(cursor);
}

int connect(sqlite3 *database, void *, int, const char *const *, sqlite3_vtab **result, char **) {
  return guarded([&] {
    const int code = sqlite3_declare_vtab(database, kTable);
    if (code != SQLITE_OK) return code;
    auto table = std::make_unique<PointsTable>();
    table->database = database;
    *result = table.release();
    return SQLITE_OK;
  });
}

int disconnect(sqlite3_vtab *table) {
  delete static_cast<PointsTable *>(table);
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
    *result = new PointsCursor(*static_cast<PointsTable *>(table));
    return SQLITE_OK;
  });
}

int close_cursor(sqlite3_vtab_cursor *cursor) {
  delete static_cast<PointsCursor *>(cursor);
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
