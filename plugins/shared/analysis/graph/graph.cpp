// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/graph/graph.h"

#include <algorithm>
#include <set>

namespace atalaya::graph {
namespace {

Node node_of(By by, const std::string &host, const std::string &process, const std::string &pid, const std::string &container,
             const std::string &command) {
  Node node;
  switch (by) {
    case By::process:
      node = {host, process, process, pid, false, false, {}};
      break;
    case By::command:
      node = {"", command.empty() ? process : command, command.empty() ? process : command, "", false, false, {}};
      break;
    case By::container: {
      const std::string name = container.empty() ? process : container;
      node = {host, name, name, "", false, !container.empty(), {}};
      break;
    }
    case By::host:
      node = {host, host, host, "", false, false, {}};
      break;
  }
  return node;
}

// Key of a process: host and pid, or host and name if there is no pid. The name is not part of the first key, because samples and
// flows of a process may have different names.
using ProcessKey = std::tuple<std::string, std::string, std::string>;

template <class T>
ProcessKey process_key_of(const T &one) {
  return {one.host, one.pid, one.pid.empty() ? one.process : ""};
}

class Projection {
 public:
  Projection(const std::vector<Flow> &flows, By by) : flows_(flows), by_(by) {
    for (const Flow &flow : flows) {
      if (flow.local != "*" && !flow.local.empty() && !is_loopback(flow.local)) owners_[flow.local].insert(flow.host);
      const size_t index = static_cast<size_t>(&flow - flows.data());
      const size_t known = processes_.try_emplace(process_key_of(flow), index).first->second;
      if (flows[known].container.empty() && !flow.container.empty()) processes_[process_key_of(flow)] = index;
    }
  }

  // Finds the node of the process's flows, whose tags may differ from those of its samples.
  Node of(const Worker &worker) const {
    if (const auto process = processes_.find(process_key_of(worker)); process != processes_.end()) return of(process->second);
    return node_of(by_, worker.host, worker.process, worker.pid, worker.container, worker.command);
  }

  Node of(size_t flow) const {
    const Flow &own = flows_[flow];
    return node_of(by_, own.host, own.process, own.pid, own.container, own.command);
  }

  // The node of the unreported end of a flow: a process of a known host, or an outside address.
  Node peer_of(size_t index) const {
    const Flow &flow = flows_[index];
    const auto owner = owners_.find(flow.remote);
    // Several hosts may have the same private address: prefers the reporting host.
    const bool here =
        is_loopback(flow.remote) || flow.protocol == "unix" || (owner != owners_.end() && owner->second.count(flow.host) > 0);
    if (here || (owner != owners_.end() && owner->second.size() == 1))
      return node_of(by_, here ? flow.host : *owner->second.begin(), kUnattributed, "", "", "");
    if (flow.remote == "*") return {"", kUnattributed, kUnattributed, "", true, false, {}};
    const bool service = flow.opened && !flow.port.empty() && by_ != By::host;
    const bool six = flow.remote.find(':') != std::string::npos;
    const std::string name = !service ? flow.remote : (six ? "[" + flow.remote + "]" : flow.remote) + ":" + flow.port;
    return {"", name.empty() ? kUnattributed : name, name, "", true, false, {}};
  }

 private:
  const std::vector<Flow> &flows_;
  const By by_;
  std::map<std::string, std::set<std::string>> owners_;  // hosts by address
  std::map<ProcessKey, size_t> processes_;               // index of one flow of the process
};

const std::string &largest(const std::map<std::string, double> &amounts) {
  return std::max_element(amounts.begin(), amounts.end(), [](const auto &a, const auto &b) { return a.second < b.second; })->first;
}

}  // namespace

std::optional<By> parse_by(std::string_view name) {
  if (name == "process") return By::process;
  if (name == "command") return By::command;
  if (name == "container") return By::container;
  if (name == "host") return By::host;
  return std::nullopt;
}

Graph graph_of(const std::vector<Flow> &flows, const std::vector<Link> &links, const std::vector<Worker> &workers, By by) {
  const Projection projection(flows, by);
  std::map<Node, Resources> used;
  std::map<Node, std::map<std::string, double>> moved;  // bytes by container and process name
  std::map<std::pair<Node, Node>, double> bytes;
  Graph graph;
  graph.by = by;
  for (const Link &link : links) {
    const Node client = link.client == kUnknown ? projection.peer_of(link.server) : projection.of(link.client);
    const Node server = link.server == kUnknown ? projection.peer_of(link.client) : projection.of(link.server);
    used[client], used[server];
    for (const size_t end : {link.client, link.server})
      if (by == By::container && end != kUnknown) moved[projection.of(end)][flows[end].process] += link.forward + link.backward;
    if (link.forward > 0) bytes[{client, server}] += link.forward;
    if (link.backward > 0) bytes[{server, client}] += link.backward;
    graph.total += link.forward + link.backward;
    if (link.estimated) graph.estimated += link.forward + link.backward;
  }
  for (const Worker &worker : workers) {
    const auto node = used.find(projection.of(worker));
    if (node == used.end()) continue;  // no traffic
    node->second.cpu += worker.used.cpu;
    node->second.memory += worker.used.memory;
    node->second.known = true;
  }
  std::map<Node, size_t> places;
  for (const auto &[node, resources] : used) {
    places[node] = graph.nodes.size();
    graph.nodes.push_back(node);
    graph.nodes.back().used = resources;
    if (const auto own = moved.find(node); own != moved.end()) graph.nodes.back().command = largest(own->second);
  }
  for (const auto &[ends, amount] : bytes) graph.bytes[{places[ends.first], places[ends.second]}] += amount;
  return graph;
}

}  // namespace atalaya::graph
