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
  const char *key;  // the first column of its primary key, which is an integer
};
// Returns all tables with content; tables to which others refer come first.
std::span<const Table> tables();

// Calls `row` with all columns of each row that SQLite can read, in order of the key. Calls `lost` with SQLite's message and
// the last key before each range of rows that it cannot read. Throws on other errors.
void for_each_row(Database &database, const Table &table, const std::function<void(const Row &)> &row,
                  const std::function<void(int64_t after, const std::string &why)> &lost);

// Returns the reason why no reader can decode the content of a row, of which all columns are passed; "" if it can be decoded.
std::string problem_of(const Table &table, const Row &row);

}  // namespace atalaya::store
