// SPDX-License-Identifier: Apache-2.0
// SQLite and its prepared statements. In an extension, all calls use the function table of the program that loads it, which may
// contain its own SQLite.
#pragma once

#ifdef ATALAYA_SQLITE_EXTENSION
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3
#else
#include <sqlite3.h>
#endif

#include <memory>
#include <string_view>

namespace atalaya::store {

struct Finalize {
  void operator()(sqlite3_stmt *statement) const { sqlite3_finalize(statement); }
};
using Prepared = std::unique_ptr<sqlite3_stmt, Finalize>;

// Returns null on an error, which SQLite stores.
inline Prepared prepare(sqlite3 *database, const char *sql) {
  sqlite3_stmt *statement = nullptr;
  sqlite3_prepare_v2(database, sql, -1, &statement, nullptr);
  return Prepared(statement);
}

inline std::string_view blob(sqlite3_stmt *statement, int column) {
  const auto *data = static_cast<const char *>(sqlite3_column_blob(statement, column));
  return data == nullptr ? std::string_view{}
                         : std::string_view(data, static_cast<size_t>(sqlite3_column_bytes(statement, column)));
}

}  // namespace atalaya::store
