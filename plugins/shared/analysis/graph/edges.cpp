// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/graph/edges.h"

#include <algorithm>

namespace atalaya::graph {

Edges edges_of(const Graph &graph, double min_share) {
  Edges edges;
  for (const auto &[ends, bytes] : graph.bytes) edges.drawn[std::minmax(ends.first, ends.second)] += bytes;
  std::erase_if(edges.drawn, [&](const auto &edge) {
    edges.largest = std::max(edges.largest, edge.second);
    if (edge.second >= min_share * graph.total) return false;
    ++edges.hidden;
    edges.hidden_bytes += edge.second;
    return true;
  });
  return edges;
}

}  // namespace atalaya::graph
