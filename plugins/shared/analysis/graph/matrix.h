// SPDX-License-Identifier: Apache-2.0
// The graph as a table: a row sends, a column receives.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/graph/graph.h"

namespace atalaya::graph {

struct Matrix {
  std::vector<std::string> names;
  std::vector<std::vector<double>> bytes;  // [from][to], with the diagonal: what stays within
  double most = 0;                         // the largest of them
};

// The `top` nodes that move most, by name; the rest together is the last row and column, "others".
Matrix matrix_of(const Graph &graph, size_t top);

// "host1 java 4711", as much as tells the nodes of this kind of graph apart.
std::string label_of(const Graph &graph, const Node &node);

}  // namespace atalaya::graph
