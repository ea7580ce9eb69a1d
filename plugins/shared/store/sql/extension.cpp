// SPDX-License-Identifier: Apache-2.0
// atalaya_sqlite.so: `.load` it, and the view `points` covers chunks too.
#include <sqlite3ext.h>

#include "plugins/shared/store/sql/points_table.h"

SQLITE_EXTENSION_INIT1

extern "C" __attribute__((visibility("default"))) int sqlite3_atalayasqlite_init(sqlite3 *database, char **error,
                                                                                 const sqlite3_api_routines *api) {
  SQLITE_EXTENSION_INIT2(api);
  const atalaya::core::Status registered = atalaya::store::register_points(database);
  if (!registered && error != nullptr) *error = sqlite3_mprintf("%s", registered.error().c_str());
  return registered ? SQLITE_OK : SQLITE_ERROR;
}
