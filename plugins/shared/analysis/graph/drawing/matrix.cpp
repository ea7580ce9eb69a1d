// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/graph/drawing/matrix.h"

#include <algorithm>
#include <numeric>

namespace atalaya::graph {

std::string label_of(const Graph &graph, const Node &node) {
  std::string label;
  if (!node.host.empty() && graph.by != By::host) label = node.host + " ";
  label += node.name;
  if (!node.pid.empty()) label += " " + node.pid;
  return label;
}

Matrix matrix_of(const Graph &graph, size_t top) {
  std::vector<double> moved(graph.nodes.size(), 0);
  for (const auto &[ends, bytes] : graph.bytes) {
    moved[ends.first] += bytes;
    moved[ends.second] += bytes;
  }
  std::vector<size_t> order(graph.nodes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return moved[a] > moved[b]; });
  const size_t shown = std::min(top, order.size());
  std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown));

  Matrix matrix;
  std::vector<size_t> place(graph.nodes.size(), shown);
  matrix.names.reserve(shown + 1);
  for (size_t i = 0; i < shown; ++i) {
    place[order[i]] = i;
    matrix.names.push_back(label_of(graph, graph.nodes[order[i]]));
  }
  if (shown < order.size()) matrix.names.emplace_back("others");
  matrix.bytes.assign(matrix.names.size(), std::vector<double>(matrix.names.size(), 0));
  for (const auto &[ends, bytes] : graph.bytes) {
    double &cell = matrix.bytes[place[ends.first]][place[ends.second]];
    cell += bytes;
    matrix.maximum = std::max(matrix.maximum, cell);
  }
  return matrix;
}

}  // namespace atalaya::graph
