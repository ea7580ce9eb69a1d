// SPDX-License-Identifier: Apache-2.0
// Formats the graph for Graphviz: a cluster per host; the height of a node is memory, its line width CPU, its colour the command;
// the width of an edge is the bytes in both directions.
#pragma once

#include <string>

#include "plugins/shared/analysis/graph/graph.h"

namespace atalaya::graph {

struct Drawing {
  std::string text;
  size_t shown = 0, hidden = 0;          // number of edges
  double hidden_bytes = 0, largest = 0;  // bytes of all hidden edges, and of the largest edge
};

// Hides edges with less than `min_share` of all bytes, and nodes without an edge.
Drawing as_dot(const Graph &graph, double min_share);

}  // namespace atalaya::graph
