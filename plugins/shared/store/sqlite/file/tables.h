// SPDX-License-Identifier: Apache-2.0
// Reads all rows of a store that may be damaged.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "plugins/shared/store/sqlite/file/database.h"

namespace atalaya::store {

struct Table {
  const char *name;
  const char *key;  // the first column of its primary key, an integer
};
// All tables with content, those first that others refer to.
std::span<const Table> tables();

// Calls `row` with each row that SQLite can read, all its columns, in order of the key; `lost` with SQLite's message and the last
// key before each stretch that it cannot. Throws on other errors.
void each_row(Database &database, const Table &table, const std::function<void(const Row &)> &row,
              const std::function<void(int64_t after, const std::string &why)> &lost);

// Why no reader can decode the content of a row, given all its columns; "" if one can.
std::string problem_of(const Table &table, const Row &row);

}  // namespace atalaya::store
