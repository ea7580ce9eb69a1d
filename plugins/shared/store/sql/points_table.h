// SPDX-License-Identifier: Apache-2.0
// Chunks in SQL: the table atalaya_chunk_points and the view `points` over rows and chunks.
#pragma once

#include "core/base/result.h"
#include "plugins/shared/store/sql/sqlite_api.h"

namespace atalaya::store {

// After this call the view `points` of this connection has all points if its main database is a store; otherwise the call only
// adds the table.
core::Status register_points(sqlite3 *database);

}  // namespace atalaya::store
