// SPDX-License-Identifier: Apache-2.0
// The edges of a drawing: bytes both ways.
#pragma once

#include <cstddef>
#include <map>
#include <utility>

#include "plugins/shared/analysis/graph/graph.h"

namespace atalaya::graph {

struct Edges {
  std::map<std::pair<size_t, size_t>, double> drawn;  // by nodes, the smaller index first
  size_t hidden = 0;
  double hidden_bytes = 0, largest = 0;  // of a single edge
};
// Omits edges with less than `min_share` of all bytes.
Edges edges_of(const Graph &graph, double min_share);

}  // namespace atalaya::graph
