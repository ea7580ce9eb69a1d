// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/schema.h"

#include <array>
#include <string>

#include "plugins/shared/store/sqlite/rows/block.h"

namespace atalaya::store {
namespace {

// The step from version n to n + 1 is element n; the first one creates the tables.
//
// Ids are never used twice (AUTOINCREMENT), so that a remembered id never means something else. The order of window ids is the
// order of arrival. seen_ns is at least the arrival time of every row that refers to the entity or text.
constexpr std::array kSteps = {
    R"sql(
CREATE TABLE windows(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  time_ns INTEGER NOT NULL,     -- the window's end, Unix ns
  duration_ns INTEGER NOT NULL, -- its length, 0 = an instant
  arrived_ns INTEGER NOT NULL,  -- when its first sample was written
  UNIQUE(time_ns, duration_ns));
CREATE INDEX windows_arrived ON windows(arrived_ns);
CREATE TABLE metrics(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE);
CREATE TABLE entities(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  host TEXT, pid, process TEXT, -- the tags of these names; NULL = absent; pid is an INTEGER where it is one
  tags TEXT NOT NULL,           -- the other tags, a JSON object with sorted keys
  seen_ns INTEGER NOT NULL);
CREATE INDEX entities_identity ON entities(process, pid, host, tags);
CREATE INDEX entities_seen ON entities(seen_ns);
CREATE TABLE samples(
  window INTEGER NOT NULL, entity INTEGER NOT NULL,
  fields TEXT NOT NULL,         -- a JSON object: metric id -> value; an integer is a count, a real has a point or an exponent
  PRIMARY KEY(window, entity)) WITHOUT ROWID;
CREATE TABLE stack_texts(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  hash INTEGER NOT NULL, folded TEXT NOT NULL, seen_ns INTEGER NOT NULL);
CREATE INDEX stack_texts_hash ON stack_texts(hash);
CREATE INDEX stack_texts_seen ON stack_texts(seen_ns);
CREATE TABLE stacks(
  window INTEGER NOT NULL, entity INTEGER NOT NULL, stack INTEGER NOT NULL, fields TEXT NOT NULL,
  PRIMARY KEY(window, entity, stack)) WITHOUT ROWID;
CREATE TABLE spans(
  start_ns INTEGER NOT NULL, entity INTEGER NOT NULL, name TEXT NOT NULL,
  duration_ns INTEGER NOT NULL, -- -1 while it is open
  arrived_ns INTEGER NOT NULL, fields TEXT NOT NULL,
  PRIMARY KEY(start_ns, entity, name)) WITHOUT ROWID;
CREATE INDEX spans_entity ON spans(entity);
CREATE INDEX spans_arrived ON spans(arrived_ns);
-- CROSS JOIN: windows before samples, so that a condition on the time reads no sample outside of it.
CREATE VIEW points(time, metric, host, pid, process, tags, value) AS
  SELECT w.time_ns / 1000000, m.name, e.host, e.pid, e.process, e.tags, f.value
  FROM windows w CROSS JOIN samples s ON s.window = w.id JOIN entities e ON e.id = s.entity
       JOIN json_each(s.fields) f JOIN metrics m ON m.id = f.key;
)sql",
    // 2: chunks (packer.h), and what is known of an entity without reading its samples.
    R"sql(
DROP VIEW points;
CREATE TABLE windows_2(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  time_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL, arrived_ns INTEGER NOT NULL,
  packed INTEGER NOT NULL DEFAULT 0); -- its samples are 0: rows, 1: in chunks, the rows are to be deleted, 2: in chunks only
INSERT INTO sqlite_sequence SELECT 'windows_2', seq FROM sqlite_sequence WHERE name = 'windows';
INSERT INTO windows_2 SELECT id, time_ns, duration_ns, arrived_ns, 0 FROM windows;
DROP TABLE windows;
ALTER TABLE windows_2 RENAME TO windows;
CREATE UNIQUE INDEX windows_open ON windows(time_ns, duration_ns) WHERE packed = 0;
CREATE INDEX windows_time ON windows(time_ns);
CREATE INDEX windows_arrived ON windows(arrived_ns);
CREATE INDEX windows_packed ON windows(id) WHERE packed = 1;
-- No sample of the entity is older or newer; NULL: not known.
ALTER TABLE entities ADD COLUMN first_ns INTEGER;
ALTER TABLE entities ADD COLUMN last_ns INTEGER;
CREATE TABLE shapes(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  metrics TEXT NOT NULL UNIQUE); -- the fields that a sample had: a JSON array of metric ids
CREATE TABLE entity_shapes(
  entity INTEGER NOT NULL, shape INTEGER NOT NULL,
  PRIMARY KEY(entity, shape)) WITHOUT ROWID;
-- What those that are there had is not known without reading it all (row_old.h): until then, any metric. They lie somewhere in here:
UPDATE entities SET first_ns = (SELECT min(time_ns) FROM windows), last_ns = (SELECT max(time_ns) FROM windows);
INSERT INTO shapes(id, metrics) SELECT 0, '[0,' || group_concat(id) || ']' FROM metrics HAVING count(*) > 0;
INSERT INTO entity_shapes SELECT id, 0 FROM entities;
CREATE TABLE chunks(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  entity INTEGER NOT NULL,
  first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL, -- times of the first and the last point; chunks of an entity do not overlap
  arrived_ns INTEGER NOT NULL,                         -- when the last of it arrived
  head BLOB NOT NULL, data BLOB NOT NULL);             -- chunk.h
CREATE INDEX chunks_entity ON chunks(entity, last_ns, first_ns);
CREATE INDEX chunks_arrived ON chunks(arrived_ns);
-- The end of a span; those that are open end last.
CREATE INDEX spans_end ON spans(iif(duration_ns = -1, 9223372036854775807, start_ns + duration_ns));
CREATE INDEX spans_name ON spans(name, start_ns);
CREATE TABLE unfinished(chunk INTEGER PRIMARY KEY); -- chunks from this id on do not count yet
CREATE VIEW points(time, metric, host, pid, process, tags, value) AS
  SELECT w.time_ns / 1000000, m.name, e.host, e.pid, e.process, e.tags, f.value
  FROM windows w CROSS JOIN samples s ON s.window = w.id JOIN entities e ON e.id = s.entity
       JOIN json_each(s.fields) f JOIN metrics m ON m.id = f.key
  WHERE w.packed = 0;
)sql",
    // 3: stacks as a tree (stack_tree.h). Those that are there stay where they are (stack_old.h), with their indexes: to drop one
    // takes as long as it is large.
    R"sql(
ALTER TABLE stack_texts RENAME TO old_stack_texts;
ALTER TABLE stacks RENAME TO old_stacks;
CREATE TABLE frames(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  seen_h INTEGER NOT NULL); -- not seen after this hour since 1970
CREATE TABLE stack_nodes(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  parent INTEGER NOT NULL,  -- the node of the frame that called, 0 = none
  frame INTEGER NOT NULL,
  seen_h INTEGER NOT NULL,
  UNIQUE(parent, frame));
CREATE TABLE stacks(
  window INTEGER NOT NULL, entity INTEGER NOT NULL,
  field INTEGER NOT NULL,   -- the id of a metric
  numbers TEXT NOT NULL,    -- a JSON object: the node of a stack's last frame -> the field's value
  PRIMARY KEY(window, entity, field)) WITHOUT ROWID;
-- NULL where a part of the stack is damaged: each parent is older than its child, and the first one has none.
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
       JOIN json_each(s.numbers) n
  UNION ALL
  SELECT w.time_ns / 1000000, m.name, e.host, e.pid, e.process, e.tags, t.folded, f.value
  FROM windows w CROSS JOIN old_stacks s ON s.window = w.id JOIN entities e ON e.id = s.entity
       JOIN old_stack_texts t ON t.id = s.stack JOIN json_each(s.fields) f JOIN metrics m ON m.id = f.key;
)sql",
    // 4: a row of samples is a block of neighbours (block.h). Those that are there stay where they are (row_old.h).
    R"sql(
DROP VIEW points;
ALTER TABLE samples RENAME TO old_samples;
CREATE TABLE samples(
  window INTEGER NOT NULL,
  block INTEGER NOT NULL,   -- entity >> 5
  fields TEXT NOT NULL,     -- a JSON object: entity -> its fields, an object metric id -> value as in old_samples
  PRIMARY KEY(window, block)) WITHOUT ROWID;
-- CROSS JOIN: in this order, whatever SQLite guesses; an object is parsed once.
CREATE VIEW points(time, metric, host, pid, process, tags, value) AS
  SELECT w.time_ns / 1000000, m.name, e.host, e.pid, e.process, e.tags, f.value
  FROM windows w CROSS JOIN samples s ON s.window = w.id CROSS JOIN json_each(s.fields) b CROSS JOIN entities e ON e.id = b.key
       CROSS JOIN json_each(b.value) f CROSS JOIN metrics m ON m.id = f.key
  WHERE w.packed = 0
  UNION ALL
  SELECT w.time_ns / 1000000, m.name, e.host, e.pid, e.process, e.tags, f.value
  FROM windows w CROSS JOIN old_samples s ON s.window = w.id JOIN entities e ON e.id = s.entity
       JOIN json_each(s.fields) f JOIN metrics m ON m.id = f.key
  WHERE w.packed = 0;
)sql",
    // 5: what is kept of old chunks (rollup.h).
    R"sql(
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
)sql"};
static_assert(kBlockBits == 5);
static_assert(kSteps.size() == kSchemaVersion);

}  // namespace

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
}

void prepare_for_writing(Database &database, bool full_sync) {
  database.execute("PRAGMA auto_vacuum = INCREMENTAL");  // counts only before the first table
  database.execute("PRAGMA journal_mode = WAL");
  database.execute(full_sync ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  database.execute("PRAGMA wal_autocheckpoint = 1000");
  database.execute("PRAGMA journal_size_limit = 16777216");
  database.execute("PRAGMA mmap_size = 0");  // an I/O error through a mapping would be a SIGBUS

  Transaction transaction(database);
  for (int64_t version = database.number("PRAGMA user_version"); version < kSchemaVersion; ++version) {
    database.execute(kSteps.at(static_cast<size_t>(version)));
    database.execute(("PRAGMA user_version = " + std::to_string(version + 1)).c_str());
  }
  database.execute(("PRAGMA application_id = " + std::to_string(kApplicationId)).c_str());
  transaction.commit();
}

}  // namespace atalaya::store
