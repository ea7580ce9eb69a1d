// SPDX-License-Identifier: Apache-2.0
// Draws the graph with its nodes on a circle, those of a host next to each other, so that no layout program is needed.
#pragma once

#include <string>

#include "plugins/shared/analysis/graph/graph.h"

namespace atalaya::graph {

// Returns the drawing as SVG. Omits edges with less than `min_share` of all bytes, and nodes that then have no edge. Width of an
// edge: bytes in both directions; size of a node: memory; width of its line: CPU.
std::string as_circle(const Graph &graph, double min_share, const std::string &title);

}  // namespace atalaya::graph
