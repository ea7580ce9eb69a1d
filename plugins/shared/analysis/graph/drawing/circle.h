// SPDX-License-Identifier: Apache-2.0
// The graph as an image without a program that places its nodes: they are on a circle, those of a host next to each other.
#pragma once

#include <string>

#include "plugins/shared/analysis/graph/graph.h"

namespace atalaya::graph {

// SVG. Without edges of less than `min_share` of all bytes, and without nodes that have none left. Width of an edge: bytes both
// ways; size of a node: memory; its line: CPU.
std::string as_circle(const Graph &graph, double min_share, const std::string &title);

}  // namespace atalaya::graph
