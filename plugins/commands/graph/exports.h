// SPDX-License-Identifier: Apache-2.0
// The graph for programs: JSON, and input of graph databases.
#pragma once

#include <string>

#include "plugins/shared/analysis/graph/drawing/matrix.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::graph {

std::string as_json(const Graph &graph, const Matrix &matrix, const query::Range &range);
// Statements that may be run repeatedly: MERGE by key; amounts are set, not added.
std::string as_cypher(const Graph &graph);
std::string as_graphml(const Graph &graph);

}  // namespace atalaya::graph
