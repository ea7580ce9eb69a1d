// SPDX-License-Identifier: Apache-2.0
// Checks a store row by row, and copies the rows that are good.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "plugins/shared/store/sqlite/file/database.h"

namespace atalaya::store {

struct RowCounts {
  int64_t good = 0, damaged = 0;  // a stretch of rows that SQLite cannot read counts as one
};
// Called for each damaged part: "chunks 17", and why.
using OnDamage = std::function<void(const std::string &part, const std::string &why)>;

// Reads every row of the store and the structure of the file. Changes nothing; the agent may run.
RowCounts verify(Database &database, const OnDamage &on_damage);

struct Repaired {
  RowCounts rows;
  std::string kept;  // the damaged file's new name
};
// Replaces the store by a copy of its good rows, with the same owner and mode. Throws while an agent writes the store, or without
// room for the copy; then nothing has changed.
Repaired repair(const std::string &path);

}  // namespace atalaya::store
