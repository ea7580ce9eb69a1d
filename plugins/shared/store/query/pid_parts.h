// SPDX-License-Identifier: Apache-2.0
// Queries whose series are too many for memory, in parts.
#pragma once

#include <functional>

#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/query/types.h"
#include "plugins/shared/store/store.h"

namespace atalaya::query {

// Calls `read` with the query. Where it throws TooManySeries, calls it with parts of the query by the last digits of the pids
// instead: all series with one pid, or without one, are in one part, so that groups by pid are complete. `is_part` is true for
// these calls. A part that cannot be divided throws.
void read_in_parts(const Query &query, const std::function<void(const Query &part, bool is_part)> &read);

// Calls `take` with each selected series, in no order of its own. An unknown metric has none.
void each_series(const Query &query, store::Store &store, Budget &budget, const std::function<void(const store::Series &)> &take);

}  // namespace atalaya::query
