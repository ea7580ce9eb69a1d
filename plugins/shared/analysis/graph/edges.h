// SPDX-License-Identifier: Apache-2.0
// The edges of a drawing. The value of an edge is the bytes in both directions.
#pragma once

#include <cstddef>
#include <map>
#include <utility>

#include "plugins/shared/analysis/graph/graph.h"

namespace atalaya::graph {

struct Edges {
  std::map<std::pair<size_t, size_t>, double> drawn;  // bytes by node indices, the smaller one first
  size_t hidden = 0;                                  // number of omitted edges
  double hidden_bytes = 0;                            // sum over the omitted edges
  double largest = 0;                                 // bytes of the largest edge
};
// Omits edges with less than `min_share` of all bytes.
Edges edges_of(const Graph &graph, double min_share);

}  // namespace atalaya::graph
