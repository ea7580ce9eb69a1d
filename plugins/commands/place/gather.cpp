// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/place/gather.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace atalaya::place {
namespace {

// The role of a node of the graph.
struct Part {
  enum class Role { item, stays, elsewhere } role = Role::elsewhere;
  size_t index = 0;  // index of the item or of the host; hosts outside the problem have the last indices
};

// Whether the node is of the placed kind: a container, or a process. If containers are placed, processes outside containers stay on
// their host.
bool is_placed_kind(graph::By by, const graph::Node &node) {
  return by == graph::By::container ? node.contained : !node.pid.empty();
}

graph::Node silent_node(const graph::Worker &worker) {
  graph::Node node;
  node.host = worker.host;
  node.name = worker.container;
  node.contained = true;
  return node;
}

}  // namespace

Problem problem_of(const graph::Graph &graph, const std::vector<graph::Worker> &workers, std::vector<HostCapacity> hosts,
                   double fill, const std::function<bool(const graph::Node &)> &movable) {
  Problem problem;
  problem.hosts = std::move(hosts);
  problem.fill = fill;
  problem.fixed.resize(problem.hosts.size());
  problem.kept.resize(problem.hosts.size(), false);
  std::map<std::string, size_t> numbers;
  for (size_t i = 0; i < problem.hosts.size(); ++i) numbers[problem.hosts[i].host] = i;
  for (const graph::Worker &worker : workers) {
    const auto host = numbers.find(worker.host);
    if (host == numbers.end()) continue;
    problem.fixed[host->second].cpu += worker.used.cpu;
    problem.fixed[host->second].memory += worker.used.memory;
  }
  std::set<std::pair<std::string, std::string>> placed;
  std::vector<Part> parts;
  parts.reserve(graph.nodes.size());
  for (const graph::Node &node : graph.nodes) {
    const auto host = numbers.find(node.host);
    if (!node.outside && movable(node)) {
      parts.push_back({Part::Role::item, problem.items.size()});
      placed.insert({node.host, graph.by == graph::By::container ? node.name : node.pid});
      problem.items.push_back({node.pid.empty() ? node.name : node.name + " " + node.pid, node.command, node.host, node.used});
      if (host == numbers.end() || host->second >= problem.hosts.size()) continue;
      problem.fixed[host->second].cpu -= node.used.cpu;
      problem.fixed[host->second].memory -= node.used.memory;
    } else if (!node.outside) {
      if (host != numbers.end() && host->second < problem.hosts.size() && is_placed_kind(graph.by, node))
        problem.kept[host->second] = true;
      parts.push_back({Part::Role::stays, numbers.try_emplace(node.host, numbers.size()).first->second});
    } else {
      parts.push_back({});
    }
  }
  std::map<std::pair<std::string, std::string>, graph::Resources> silent;  // containers without traffic
  for (const graph::Worker &worker : workers) {
    const std::string &id = graph.by == graph::By::container ? worker.container : worker.pid;
    if (id.empty() || placed.contains({worker.host, id})) continue;
    if (graph.by == graph::By::container && movable(silent_node(worker))) {
      graph::Resources &used = silent[{worker.host, id}];
      used = {used.cpu + worker.used.cpu, used.memory + worker.used.memory, used.known || worker.used.known};
      continue;
    }
    const auto host = numbers.find(worker.host);
    if (host != numbers.end() && host->second < problem.hosts.size()) problem.kept[host->second] = true;
  }
  for (const auto &[id, used] : silent) {
    problem.items.push_back({id.second, "", id.first, used});
    const auto host = numbers.find(id.first);
    if (host == numbers.end() || host->second >= problem.hosts.size()) continue;
    problem.fixed[host->second].cpu -= used.cpu;
    problem.fixed[host->second].memory -= used.memory;
  }
  std::map<std::pair<size_t, size_t>, double> between, to_host;
  for (const auto &[ends, bytes] : graph.bytes) {
    Part a = parts[ends.first], b = parts[ends.second];
    if (a.role > b.role) std::swap(a, b);
    if (b.role == Part::Role::elsewhere || (a.role == b.role && a.index == b.index)) continue;
    if (b.role == Part::Role::item)
      between[std::minmax(a.index, b.index)] += bytes;
    else if (a.role == Part::Role::item && b.index < problem.hosts.size())
      to_host[{a.index, b.index}] += bytes;
    else
      problem.crossing += bytes;
    problem.total += bytes;
  }
  for (const auto &[ends, bytes] : between) problem.between.push_back({ends.first, ends.second, bytes});
  for (const auto &[ends, bytes] : to_host) problem.to_host.push_back({ends.first, ends.second, bytes});
  return problem;
}

std::vector<std::string> unlisted_hosts(const Problem &problem) {
  std::set<std::string> names;
  for (const Item &item : problem.items) names.insert(item.host);
  for (const HostCapacity &capacity : problem.hosts) names.erase(capacity.host);
  return {names.begin(), names.end()};
}

std::vector<HostCapacity> add_unlisted_hosts(std::vector<HostCapacity> hosts, const std::vector<std::string> &others,
                                             const std::vector<HostCapacity> &known) {
  for (const std::string &host : others) {
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const HostCapacity &capacity) { return capacity.host == host; });
    hosts.push_back(found == known.end() ? HostCapacity{host, 0, 0, false} : *found);
  }
  return hosts;
}

}  // namespace atalaya::place
