// SPDX-License-Identifier: Apache-2.0
// Results of PromQL over a store.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/commands/serve/prometheus/promql_values.h"

namespace atalaya::serve {

struct PromqlResult {
  bool scalar = false;  // one column without labels
  Columns columns;
};
// At each step. `instant`: there is one step; a selector is then the last sample before it, else the value since the step before.
// Throws as queries do; an unknown metric has no series.
PromqlResult evaluated(const Expression &expression, const Steps &steps, bool instant, store::Store &store, query::Budget &budget);

// "result" of a matrix, and of a vector at the first step.
std::string matrix_json(const Columns &columns, const Steps &steps);
std::string vector_json(const Columns &columns, int64_t time_ns);

}  // namespace atalaya::serve
