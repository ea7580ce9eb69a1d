// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/model/nodes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "plugins/shared/analysis/jobs/reasons/resource.h"

namespace atalaya::jobs {
namespace {

constexpr double kTop = 0.2;

void mark_top(std::vector<Node>::iterator begin, std::vector<Node>::iterator end) {
  const auto top = static_cast<ptrdiff_t>(std::ceil(kTop * static_cast<double>(end - begin)));
  for (auto node = begin; node != begin + top; ++node) node->top = node->lowest + node->lower > 0;
}

}  // namespace

std::vector<Node> rank_nodes(const JobData &data, const std::vector<Group> &groups) {
  std::map<std::pair<uint32_t, uint32_t>, Node> found;
  for (const Group &group : groups) {
    if (group.phase != 0) continue;
    for (const NodeSpeed &speed : group.nodes) {
      if (speed.host == 0) continue;
      Node &node = found[{group.job, speed.host}];
      node.tasks += speed.tasks;
      node.lowest += speed.lowest;
      node.lower += speed.lower;
    }
  }
  // Reduce tasks are excluded: they always fetch from almost all nodes, so a node that runs more of them has more remote bytes.
  std::set<std::pair<uint32_t, uint32_t>> shuffles;
  for (const Group &group : groups)
    if (group.phase != 0 && needs_of(data.name(group.phase)).network) shuffles.emplace(group.job, group.stage);
  for (const Task &task : data.tasks) {
    if (shuffles.contains({task.job, task.stage})) continue;
    const auto node = found.find({task.job, task.host});
    if (node == found.end() || task.work.remote == kUnknown || task.remote_of == kUnknown) continue;
    node->second.bytes += static_cast<double>(task.remote_of);
    node->second.remote += static_cast<double>(task.work.remote);
  }
  std::vector<Node> nodes;
  for (auto &[key, node] : found) {
    std::tie(node.job, node.host) = key;
    nodes.push_back(node);
  }
  const auto order = [&](const Node &node) {
    const auto slow = static_cast<ptrdiff_t>(node.lowest + node.lower), slowest = static_cast<ptrdiff_t>(node.lowest);
    return std::tuple<uint32_t, ptrdiff_t, ptrdiff_t, const std::string &>(node.job, -slow, -slowest, data.name(node.host));
  };
  std::sort(nodes.begin(), nodes.end(), [&](const Node &a, const Node &b) { return order(a) < order(b); });
  for (auto begin = nodes.begin(); begin != nodes.end();) {
    const auto end = std::find_if(begin, nodes.end(), [&](const Node &node) { return node.job != begin->job; });
    mark_top(begin, end);
    begin = end;
  }
  return nodes;
}

}  // namespace atalaya::jobs
