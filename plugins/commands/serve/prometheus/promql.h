// SPDX-License-Identifier: Apache-2.0
// Evaluates PromQL over a store.
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
// Evaluates the expression at each step. `instant`: there is one step, and the value of a selector is the last sample before it;
// otherwise it is the value since the previous step. An unknown metric has no series. Throws the exceptions of the query engine.
PromqlResult evaluated(const Expression &expression, const Steps &steps, bool instant, store::Store &store, query::Budget &budget);

// The field "result" of a matrix, and that of a vector with the values of the first step.
std::string matrix_json(const Columns &columns, const Steps &steps);
std::string vector_json(const Columns &columns, int64_t time_ns);

}  // namespace atalaya::serve
