// SPDX-License-Identifier: Apache-2.0
// The graph for Graphviz: a cluster per host, height = memory, line = CPU, edges = bytes both ways, colours = commands.
#pragma once

#include <string>

#include "plugins/shared/analysis/graph/graph.h"

namespace atalaya::graph {

struct Drawing {
  std::string text;
  size_t shown = 0, hidden = 0;          // edges
  double hidden_bytes = 0, largest = 0;  // of a single edge
};

// Leaves out edges with less than `min_share` of all bytes, and nodes without an edge.
Drawing as_dot(const Graph &graph, double min_share);

}  // namespace atalaya::graph
