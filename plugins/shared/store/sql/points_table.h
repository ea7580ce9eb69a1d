// SPDX-License-Identifier: Apache-2.0
// Chunks in SQL: the table atalaya_chunk_points and the view `points` over rows and chunks.
#pragma once

#include "core/base/result.h"
#include "plugins/shared/store/sql/sqlite_api.h"

namespace atalaya::store {

// After this, `points` of this connection covers everything if its main database is a store; else nothing changes except that
// the table exists.
core::Status register_points(sqlite3 *database);

}  // namespace atalaya::store
