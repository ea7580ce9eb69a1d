// SPDX-License-Identifier: Apache-2.0
// Checks a store row by row, and copies the valid rows.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "plugins/shared/store/sqlite/file/database.h"

namespace atalaya::store {

struct RowCounts {
  int64_t good = 0, damaged = 0;  // a range of rows that SQLite cannot read counts as one
};
// Receives each damaged part, such as "chunks 17", and the reason.
using OnDamage = std::function<void(const std::string &part, const std::string &why)>;

// Reads every row of the store and the structure of the file. Changes nothing; the agent may run.
RowCounts verify(Database &database, const OnDamage &on_damage);

struct Repaired {
  RowCounts rows;
  std::string kept;  // new name of the damaged file
};
// Replaces the store by a copy of its valid rows, with the same owner and mode. Throws if an agent writes the store, or if
// there is no space for the copy; then nothing has changed.
Repaired repair(const std::string &path);

}  // namespace atalaya::store
