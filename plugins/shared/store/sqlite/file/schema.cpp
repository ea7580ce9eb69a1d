// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/file/schema.h"

#include <string>

#include "plugins/shared/store/sqlite/rows/block.h"

namespace atalaya::store {
namespace {

// A batch writes a page of each index: no more than queries need. Arrivals are times of ArrivalClock.
constexpr const char *kWindows = R"sql(
CREATE TABLE windows(
  id INTEGER PRIMARY KEY,
  time_ns INTEGER NOT NULL,     -- the window's end, Unix ns
  duration_ns INTEGER NOT NULL, -- its length, 0 = an instant
  arrived_ns INTEGER NOT NULL,  -- when its first sample was written
  packed INTEGER NOT NULL DEFAULT 0); -- its samples are 0: rows, 1: in chunks, the rows are to be deleted, 2: in chunks only
CREATE UNIQUE INDEX windows_open ON windows(time_ns, duration_ns) WHERE packed = 0;
CREATE INDEX windows_arrived ON windows(arrived_ns);
CREATE INDEX windows_packed ON windows(packed, time_ns) WHERE packed > 0;
)sql";

// Who samples are about. Processes that live for a moment differ in their pid, and have the same other tags. seen_s is at least the
// arrival time of every row that refers to the entity.
constexpr const char *kEntities = R"sql(
CREATE TABLE tag_sets(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  host TEXT, process TEXT,      -- the tags of these names; NULL = absent
  tags TEXT NOT NULL);          -- the others without the pid, a JSON object with sorted keys
CREATE INDEX tag_sets_tags ON tag_sets(process, host, tags);
CREATE TABLE entity_rows(
  id INTEGER PRIMARY KEY AUTOINCREMENT, -- entity_ids.h
  tag_set INTEGER NOT NULL,
  pid,                          -- NULL = absent; an INTEGER if it is a number
  seen_s INTEGER NOT NULL,      -- whole seconds (entity_times.h)
  first_s INTEGER NOT NULL, last_s INTEGER NOT NULL); -- no sample of the entity is older or newer
CREATE INDEX entity_rows_pid ON entity_rows(tag_set, pid);
CREATE INDEX entity_rows_seen ON entity_rows(seen_s);
CREATE VIEW entities(id, host, pid, process, tags, seen_ns, first_ns, last_ns) AS
  SELECT e.id, t.host, e.pid, t.process, t.tags, e.seen_s * 1000000000, e.first_s * 1000000000, e.last_s * 1000000000
  FROM entity_rows e JOIN tag_sets t ON t.id = e.tag_set;
)sql";

// Ids are never used twice (AUTOINCREMENT), so that a cached id never means something else.
constexpr const char *kTables = R"sql(
-- The declaration of a metric, NULL = nobody declared it.
CREATE TABLE metrics(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  kind TEXT,                    -- gauge, rate (per second), delta (amount in the window), total (counter)
  unit TEXT,                    -- UCUM, "1" = a number without a unit
  decimals INTEGER,             -- -1 = an integer
  summary TEXT);
CREATE TABLE shapes(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  metrics TEXT NOT NULL UNIQUE); -- the fields of a sample: a JSON array of metric ids
CREATE TABLE entity_shapes(
  entity INTEGER NOT NULL, shape INTEGER NOT NULL,
  PRIMARY KEY(entity, shape)) WITHOUT ROWID;
-- A row has the entities from a block on up to the window's next row (block.h).
CREATE TABLE samples(
  window INTEGER NOT NULL,
  block INTEGER NOT NULL,       -- the first one: entity >> 5
  fields TEXT NOT NULL,         -- a JSON array of groups of samples (block.h); an integer is a count
  PRIMARY KEY(window, block)) WITHOUT ROWID;
CREATE TABLE chunks(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  entity INTEGER NOT NULL,
  first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL, -- times of the first and the last point; chunks of an entity do not overlap
  arrived_ns INTEGER NOT NULL,                         -- when the last of it arrived
  head BLOB NOT NULL, data BLOB NOT NULL);             -- chunk.h
CREATE INDEX chunks_entity ON chunks(entity, last_ns, first_ns);
CREATE INDEX chunks_arrived ON chunks(arrived_ns);
CREATE TABLE unfinished(chunk INTEGER PRIMARY KEY); -- chunks from this id on do not count yet
-- The rest of old chunks (rollup.h).
CREATE TABLE rolled(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  entity INTEGER NOT NULL,
  every_ns INTEGER NOT NULL,                           -- the length of its steps
  first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL, -- time of the first sample in it, end of its last step
  arrived_ns INTEGER NOT NULL,                         -- when the last of it arrived
  head BLOB NOT NULL, data BLOB NOT NULL);             -- rollup_points.h
CREATE INDEX rolled_entity ON rolled(entity, last_ns, first_ns);
CREATE INDEX rolled_arrived ON rolled(arrived_ns);
CREATE INDEX rolled_every ON rolled(every_ns, arrived_ns);
-- Stacks are a tree (stack_tree.h).
CREATE TABLE frames(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  seen_h INTEGER NOT NULL); -- not seen after this hour since 1970
CREATE TABLE stack_nodes(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  parent INTEGER NOT NULL,  -- the node of the calling frame, 0 = none
  frame INTEGER NOT NULL,
  seen_h INTEGER NOT NULL,
  UNIQUE(parent, frame));
CREATE TABLE stacks(
  window INTEGER NOT NULL, entity INTEGER NOT NULL,
  field INTEGER NOT NULL,   -- the id of a metric
  numbers TEXT NOT NULL,    -- a JSON object: the node of a stack's last frame -> the field's value
  PRIMARY KEY(window, entity, field)) WITHOUT ROWID;
CREATE TABLE spans(
  start_ns INTEGER NOT NULL, entity INTEGER NOT NULL, name TEXT NOT NULL,
  duration_ns INTEGER NOT NULL, -- -1 while it is open
  arrived_ns INTEGER NOT NULL, fields TEXT NOT NULL,
  PRIMARY KEY(start_ns, entity, name)) WITHOUT ROWID;
CREATE INDEX spans_entity ON spans(entity);
CREATE INDEX spans_arrived ON spans(arrived_ns);
-- The end of a span; open ones end last.
CREATE INDEX spans_end ON spans(iif(duration_ns = -1, 9223372036854775807, start_ns + duration_ns));
CREATE INDEX spans_name ON spans(name, start_ns);
-- NULL if a part of the stack is damaged: each parent is older than its child, and the first one has none.
CREATE VIEW stack_texts(id, folded) AS
  SELECT n.id, (
    WITH RECURSIVE up(id, parent, frame, depth) AS (
      SELECT n.id, n.parent, n.frame, 0 UNION ALL
      SELECT s.id, s.parent, s.frame, depth + 1 FROM up JOIN stack_nodes s ON s.id = up.parent WHERE s.id < up.id)
    SELECT iif(min(parent) = 0 AND count(name) = count(*), group_concat(name, ';'), NULL)
    FROM (SELECT up.parent, f.name FROM up LEFT JOIN frames f ON f.id = up.frame ORDER BY depth DESC))
  FROM stack_nodes n;
CREATE VIEW stack_points(time, metric, host, pid, process, tags, folded, value) AS
  SELECT w.time_ns / 1000000, m.name, e.host, e.pid, e.process, e.tags, (SELECT folded FROM stack_texts WHERE id = n.key), n.value
  FROM windows w CROSS JOIN stacks s ON s.window = w.id JOIN entities e ON e.id = s.entity JOIN metrics m ON m.id = s.field
       JOIN json_each(s.numbers) n;
)sql";
static_assert(kBlockBits == 5);

// CROSS JOIN: windows before samples, so that a condition on the time reads no sample outside it; the tags before the numbers. A
// group `g` is an element of the row, a sample `i` is an element of it; a field `f` is an element of a list, or the sample. Rows of
// older schemas are objects: a group is a sample then. The texts of arrays are taken from the row: those of json_each are made
// again for each use.
constexpr const char *kPoints = R"sql(
CREATE VIEW points(time, metric, host, pid, process, tags, value) AS
  SELECT w.time_ns / 1000000, m.name, e.host, e.pid, e.process, e.tags, iif(i.type IN ('array', 'object'), f.value, i.value)
  FROM windows w CROSS JOIN samples s ON s.window = w.id CROSS JOIN json_each(s.fields) g
       CROSS JOIN json_each(iif(g.type = 'object', json_array(json(g.value)), s.fields),
                            iif(g.type = 'object', '$', '$[' || g.key || '][2]')) i
       CROSS JOIN entities e ON e.id = iif(g.type = 'object', g.key, json_extract(s.fields, '$[' || g.key || '][0]')) + i.key
       CROSS JOIN json_each(i.value) f
       CROSS JOIN metrics m ON m.id =
         iif(g.type = 'object', f.key, json_extract(s.fields, '$[' || g.key || '][1][' || coalesce(f.key, 0) || ']'))
  WHERE w.packed = 0;
)sql";

// Readers do not need these tables, so they have no schema version of their own.
constexpr const char *kNotForReaders = R"sql(
-- Windows that got samples long after their first one, and when the last of these arrived.
CREATE TABLE IF NOT EXISTS late_windows(window INTEGER PRIMARY KEY, arrived_ns INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS late_windows_arrived ON late_windows(arrived_ns);
-- One row: the clocks at one moment of this boot (arrival_clock.h).
CREATE TABLE IF NOT EXISTS arrival_clock(
  id INTEGER PRIMARY KEY CHECK(id = 1), boot TEXT NOT NULL,
  boottime_ns INTEGER NOT NULL, realtime_ns INTEGER NOT NULL, arrived_ns INTEGER NOT NULL);
-- When the metrics of a host were collected, a row for windows that follow one another (collection.h).
CREATE TABLE IF NOT EXISTS collected(
  id INTEGER PRIMARY KEY,
  host TEXT NOT NULL,           -- '' = absent
  family TEXT NOT NULL,         -- the first word of their names; '*' = all, before this table existed
  begin_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,
  step_ns INTEGER NOT NULL,     -- the shortest window, 0 = unknown
  instants INTEGER NOT NULL,    -- 1: instants, not windows
  arrived_ns INTEGER NOT NULL); -- when the last of it arrived
CREATE INDEX IF NOT EXISTS collected_end ON collected(host, family, end_ns);
)sql";

// Without times of collection, a host counts as collected while any of its entities had samples.
constexpr const char *kTimesOfEntities = R"sql(
WITH lives AS (SELECT coalesce(host, '') AS host, first_ns, min(last_ns, ?1) AS last_ns, seen_ns FROM entities e
               WHERE first_ns <= ?1 AND EXISTS (SELECT 1 FROM entity_shapes WHERE entity = e.id)),
     with_last AS (SELECT *, max(last_ns) OVER (PARTITION BY host ORDER BY first_ns, last_ns
                                                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS until_ns FROM lives),
     parts AS (SELECT *, sum(until_ns IS NULL OR first_ns > until_ns + 60000000000)
                         OVER (PARTITION BY host ORDER BY first_ns, last_ns) AS part FROM with_last)
SELECT host, '*', min(first_ns), max(last_ns), 0, 0, max(seen_ns) FROM parts GROUP BY host, part
)sql";

// In schemas 6 and 7 its ids had a counter, which is a page a batch, and an index more.
constexpr int64_t kWindowsVersion = 8;
void renew_windows(Database &database) {
  database.execute("CREATE TEMP TABLE kept_windows AS SELECT * FROM windows; DROP TABLE windows");
  database.execute(kWindows);
  database.execute("INSERT INTO windows SELECT * FROM temp.kept_windows; DROP TABLE temp.kept_windows");
}

// Until schema 9 `entities` was a table.
constexpr int64_t kTagSetsVersion = 10;
void renew_entities(Database &database) {
  make_old_entities(database);
  database.execute("INSERT INTO temp.old_entities SELECT * FROM entities");
  database.execute("UPDATE sqlite_sequence SET name = 'entity_rows' WHERE name = 'entities'; DROP TABLE entities");
  database.execute(kEntities);
  take_old_entities(database);
}

}  // namespace

void add_missing_tables(Database &database) {
  database.execute(kNotForReaders);
  const bool is_filled =
      database.number("SELECT EXISTS (SELECT 1 FROM collected) OR NOT EXISTS (SELECT 1 FROM entity_shapes)") != 0;
  if (is_filled) return;
  const std::string insert = "INSERT INTO collected(host, family, begin_ns, end_ns, step_ns, instants, arrived_ns) ";
  Statement(database, insert + kTimesOfEntities).run(newest_sample(database));
}

std::string select_collected(Database &database) {
  const bool has_table = database.number("SELECT count(*) FROM sqlite_schema WHERE name = 'collected'") > 0;
  return has_table ? "SELECT host, family, begin_ns, end_ns, step_ns, instants, arrived_ns FROM collected WHERE begin_ns <= ?1"
                   : kTimesOfEntities;
}

// Times of entities are written ahead.
int64_t newest_sample(Database &database) {
  return database.number(("SELECT coalesce(max(last_ns), 0) FROM (" + select_windows("max(time_ns) AS last_ns", "") +
                          " UNION ALL SELECT max(last_ns) FROM chunks UNION ALL SELECT max(last_ns) FROM rolled)")
                             .c_str());
}

void make_old_entities(Database &database) {
  database.execute(
      "CREATE TEMP TABLE old_entities(id INTEGER PRIMARY KEY, host TEXT, pid, process TEXT, tags TEXT NOT NULL, "
      "seen_ns INTEGER NOT NULL, first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL)");
}

void take_old_entities(Database &database) {
  database.execute(R"sql(
INSERT INTO tag_sets(host, process, tags)
  SELECT host, process, tags FROM temp.old_entities GROUP BY host, process, tags ORDER BY min(id);
INSERT INTO entity_rows(id, tag_set, pid, seen_s, first_s, last_s)
  SELECT o.id, t.id, o.pid, seen_ns / 1000000000 + (seen_ns % 1000000000 > 0), first_ns / 1000000000 - (first_ns % 1000000000 < 0),
         last_ns / 1000000000 + (last_ns % 1000000000 > 0)
  FROM temp.old_entities o CROSS JOIN tag_sets t ON t.process IS o.process AND t.host IS o.host AND t.tags = o.tags ORDER BY o.id;
DROP TABLE temp.old_entities;
)sql");
}

std::string select_windows(const std::string &columns, const std::string &condition) {
  std::string sql;
  for (const char *part : {"packed = 0", "packed > 0 AND packed = 1", "packed > 0 AND packed = 2"}) {
    sql += sql.empty() ? "SELECT " : " UNION ALL SELECT ";
    (((sql += columns) += " FROM windows WHERE ") += part) += condition;
  }
  return sql;
}

void check_is_store(Database &database) {
  const int64_t application = database.number("PRAGMA application_id");
  const bool empty = database.number("SELECT count(*) FROM sqlite_schema") == 0;
  if (application != kApplicationId && !(empty && application == 0))
    throw Error(Cause::config, "database " + database.path() +
                                   " belongs to another program and was left as it is; choose another path for the store");
  const int64_t version = database.number("PRAGMA user_version");
  if (version > kSchemaVersion)
    throw Error(Cause::config, "database " + database.path() + " has schema version " + std::to_string(version) +
                                   ", this program knows up to " + std::to_string(kSchemaVersion) +
                                   "; use the newer atalaya that wrote it, or choose another path");
  if (version > 0 && version < kOldestSchemaVersion)
    throw Error(Cause::config, "database " + database.path() + " was made by an older version of atalaya (schema " +
                                   std::to_string(version) + ", this program reads " + std::to_string(kOldestSchemaVersion) +
                                   " and newer ones); move it away, and the sink \"sqlite\" creates a new one");
}

void prepare_for_writing(Database &database, bool full_sync) {
  database.execute("PRAGMA auto_vacuum = INCREMENTAL");  // counts only before the first table
  database.execute("PRAGMA journal_mode = WAL");
  database.execute(full_sync ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  database.execute("PRAGMA wal_autocheckpoint = 1000");
  database.execute("PRAGMA journal_size_limit = 16777216");
  database.execute("PRAGMA mmap_size = 0");  // an I/O error through a mapping would be a SIGBUS

  const int64_t version = database.number("PRAGMA user_version");
  if (version == kSchemaVersion) return add_missing_tables(database);
  Transaction transaction(database);
  if (version == 0) {
    database.execute(kWindows);
    database.execute(kEntities);
    database.execute(kTables);
  } else {
    if (version < kWindowsVersion) renew_windows(database);
    if (version < kTagSetsVersion) renew_entities(database);
    database.execute("DROP VIEW points");
  }
  database.execute(kPoints);
  add_missing_tables(database);
  database.execute(("PRAGMA user_version = " + std::to_string(kSchemaVersion)).c_str());
  database.execute(("PRAGMA application_id = " + std::to_string(kApplicationId)).c_str());
  transaction.commit();
}

}  // namespace atalaya::store
