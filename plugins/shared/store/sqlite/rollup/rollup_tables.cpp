// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/rollup/rollup_tables.h"

#include <string>

namespace atalaya::store {
namespace {

// Times near the limits of int64_t are not changed: the end of a step must fit, too.
constexpr const char *kFar = "6000000000000000000";

struct Texts {
  std::string table;
  std::string every;    // an expression: the length of the steps
  std::string counts;   // a condition: the row counts
  std::string damaged;  // a table of this connection
};

Texts texts_of(RollupTable::RollupTableKind which) {
  if (which == RollupTable::RollupTableKind::chunks)
    return {"chunks", "0", "+id < coalesce((SELECT min(chunk) FROM unfinished), 9223372036854775807)", "damaged_chunks"};
  return {"rolled", "every_ns", "true", "damaged_rolled"};
}

std::string select(RollupTable::RollupTableKind which, const char *condition) {
  const Texts texts = texts_of(which);
  return "SELECT id, entity, " + texts.every + " AS every, first_ns, last_ns, arrived_ns FROM " + texts.table + " WHERE " +
         texts.counts + " AND abs(first_ns) < " + kFar + " AND abs(last_ns) < " + kFar + " AND +id NOT IN temp." + texts.damaged +
         " AND " + condition;
}

Database &with_damage_list(Database &database, RollupTable::RollupTableKind which) {
  database.execute(("CREATE TEMP TABLE IF NOT EXISTS " + texts_of(which).damaged + "(id INTEGER PRIMARY KEY)").c_str());
  return database;
}

}  // namespace

RollupTable::RollupTable(Database &database, RollupTableKind which)
    : oldest_(with_damage_list(database, which), select(which, "every = ?1 AND arrived_ns < ?2 ORDER BY arrived_ns LIMIT ?3")),
      inside_(database,
              select(which,
                     "entity = ?1 AND every < ?2 AND last_ns > ?3 AND last_ns <= ?4 AND first_ns > ?3 AND arrived_ns < ?5 "
                     "ORDER BY last_ns LIMIT 256")),  // the next job joins the others
      overlapping_(database, select(which, "entity = ?1 AND last_ns > ?2 AND first_ns <= ?3 ORDER BY last_ns")),
      read_(database, "SELECT head, data FROM " + texts_of(which).table + " WHERE id = ?1"),
      has_(database, "SELECT 1 FROM " + texts_of(which).table + " WHERE id = ?1"),
      remove_(database, "DELETE FROM " + texts_of(which).table + " WHERE id = ?1"),
      exclude_(database, "INSERT OR IGNORE INTO temp." + texts_of(which).damaged + " VALUES(?1)") {}

template <class... Arguments>
std::vector<StoredChunk> RollupTable::list(Statement &statement, const Arguments &...arguments) {
  std::vector<StoredChunk> chunks;
  statement.each(
      [&](const Row &row) {
        chunks.push_back({row.integer(0), row.integer(1), row.integer(2), row.integer(3), row.integer(4), row.integer(5)});
      },
      arguments...);
  return chunks;
}

std::vector<StoredChunk> RollupTable::oldest(int64_t every_ns, int64_t before_ns, int64_t maximum) {
  return list(oldest_, every_ns, before_ns, maximum);
}

std::vector<StoredChunk> RollupTable::inside(int64_t entity, int64_t shorter_than_ns, int64_t from_ns, int64_t to_ns,
                                             int64_t before_ns) {
  return list(inside_, entity, shorter_than_ns, from_ns, to_ns, before_ns);
}

std::vector<StoredChunk> RollupTable::overlapping(int64_t entity, int64_t from_ns, int64_t to_ns) {
  return list(overlapping_, entity, from_ns, to_ns);
}

bool RollupTable::read(int64_t id, const std::function<void(std::string_view head, std::string_view data)> &reader) {
  bool found = false;
  read_.each(
      [&](const Row &row) {
        found = true;
        reader(row.blob(0), row.blob(1));
      },
      id);
  return found;
}

}  // namespace atalaya::store
