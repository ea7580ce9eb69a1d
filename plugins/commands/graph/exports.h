// SPDX-License-Identifier: Apache-2.0
// Formats the graph for programs: JSON, and input of graph databases.
#pragma once

#include <string>

#include "plugins/shared/analysis/graph/drawing/matrix.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::graph {

std::string as_json(const Graph &graph, const Matrix &matrix, const query::Range &range);
// Cypher statements that may be run repeatedly: they use MERGE by key, and set amounts instead of adding them.
std::string as_cypher(const Graph &graph);
std::string as_graphml(const Graph &graph);

}  // namespace atalaya::graph
