// SPDX-License-Identifier: Apache-2.0
// The graph as a table: a row sends, a column receives.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/graph/graph.h"

namespace atalaya::graph {

struct Matrix {
  std::vector<std::string> names;
  std::vector<std::vector<double>> bytes;  // [from][to]; the diagonal is traffic within a node
  double maximum = 0;                      // largest amount in `bytes`
};

// Returns the `top` nodes with the most traffic, sorted by name. The last row and column, "others", sum the rest.
Matrix matrix_of(const Graph &graph, size_t top);

// Returns the parts that identify a node in this kind of graph: "host1 java 4711".
std::string label_of(const Graph &graph, const Node &node);

}  // namespace atalaya::graph
