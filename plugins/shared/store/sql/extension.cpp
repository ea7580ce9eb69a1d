// SPDX-License-Identifier: Apache-2.0
// atalaya_sqlite.so: `.load` it, and the view `points` covers chunks too.
#include <sqlite3ext.h>

#include <string>

#include "plugins/shared/store/sql/points_table.h"

SQLITE_EXTENSION_INIT1

extern "C" __attribute__((visibility("default"))) int sqlite3_atalayasqlite_init(sqlite3 *database, char **error,
                                                                                 const sqlite3_api_routines *api) {
  SQLITE_EXTENSION_INIT2(api);
  std::string text;
  const int code = atalaya::store::register_points(database, text);
  if (code != SQLITE_OK && error != nullptr) *error = sqlite3_mprintf("%s", text.c_str());
  return code;
}
