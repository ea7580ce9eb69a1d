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

// The `top` nodes by traffic, sorted by name; the others are summed in the last row and column, "others".
Matrix matrix_of(const Graph &graph, size_t top);

// "host1 java 4711": the parts that identify a node of this kind of graph.
std::string label_of(const Graph &graph, const Node &node);

}  // namespace atalaya::graph
