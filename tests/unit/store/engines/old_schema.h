// SPDX-License-Identifier: Apache-2.0
// Stores of older schemas.
#pragma once

#include <string>

#include "plugins/shared/store/sqlite/file/database.h"

namespace atalaya::store::test {

// The table of schema 9 and before.
inline constexpr const char *kOldEntities = R"sql(
CREATE TABLE old AS SELECT * FROM entities;
DROP VIEW entities;
DROP TABLE tag_sets;
UPDATE sqlite_sequence SET name = 'entities' WHERE name = 'entity_rows';
DROP TABLE entity_rows;
CREATE TABLE entities(
  id INTEGER PRIMARY KEY AUTOINCREMENT, host TEXT, pid, process TEXT, tags TEXT NOT NULL, seen_ns INTEGER NOT NULL,
  first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL);
CREATE INDEX entities_identity ON entities(process, pid, host, tags);
CREATE INDEX entities_seen ON entities(seen_ns);
INSERT INTO entities SELECT * FROM old;
DROP TABLE old;
)sql";

inline void make_schema_9(const std::string &path) {
  Database database(path, Access::read_write);
  database.execute(kOldEntities);
  database.execute("PRAGMA user_version = 9");
}

}  // namespace atalaya::store::test
