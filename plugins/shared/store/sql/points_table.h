// SPDX-License-Identifier: Apache-2.0
// Chunks in SQL: the table atalaya_chunk_points and the view `points` over rows and chunks.
#pragma once

#include "core/base/result.h"

// As an extension all calls go through the table that the loading program hands over: it may hold a SQLite of its own.
#ifdef ATALAYA_SQLITE_EXTENSION
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3
#else
#include <sqlite3.h>
#endif

namespace atalaya::store {

// After this, `points` of this connection covers everything if its main database is a store; else nothing changes except that
// the table exists.
core::Status register_points(sqlite3 *database);

}  // namespace atalaya::store
