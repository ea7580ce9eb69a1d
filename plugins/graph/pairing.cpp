// SPDX-License-Identifier: Apache-2.0
#include "plugins/graph/pairing.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "plugins/query/types.h"

namespace atalaya::graph {
namespace {

// Ends that differ by so little saw the same: something is always under way when a window ends.
constexpr double kSame = 0.01;
constexpr size_t kMostPairs = 1'000'000;  // of one group

using Key = std::tuple<std::string, std::string, std::string, std::string, std::string, std::string>;

struct Group {
  std::vector<size_t> clients, servers;
};

struct Sum {
  double forward = 0, backward = 0, connections = 0;
};

// What the flow's end counted, as the client names the directions.
double forward(const Flow &flow) {
  return flow.opened ? flow.moved.out : flow.moved.in;
}
double backward(const Flow &flow) {
  return flow.opened ? flow.moved.in : flow.moved.out;
}
double connections(const Flow &flow) {
  return flow.moved.connections;
}
using Part = double (*)(const Flow &);
struct Measure {
  Part of;
  double Link::*in;
};
constexpr Measure kMeasures[] = {{forward, &Link::forward}, {backward, &Link::backward}, {connections, &Link::connections}};

std::string place_of(const Flow &flow) {
  const bool own = is_loopback(flow.local) || is_loopback(flow.remote);
  return own ? flow.host + '\n' + flow.netns : flow.host;
}

bool is_unix(const Flow &flow) {
  return flow.protocol == "unix";
}

class Pairing {
 public:
  Pairing(const std::vector<Flow> &flows, const Translations &translations)
      : flows_(flows), translations_(translations), done_(flows.size(), false) {}

  std::vector<Link> links() {
    // The surest first: the host's own before other hosts', whose private addresses may be equal; with both ports before merged
    // ones.
    for (const bool with_ports : {true, false}) {
      for (const bool within : {true, false}) pass([&](const Flow &flow) { return key_of(flow, with_ports, within); });
    }
    unix_pairs();
    translated();
    wildcards();
    for (size_t i = 0; i < flows_.size(); ++i)
      if (!done_[i]) alone(i);
    return std::move(links_);
  }

 private:
  using KeyOf = std::function<std::optional<Key>(const Flow &)>;

  static std::optional<Key> key_of(const Flow &flow, bool with_ports, bool within) {
    if (is_unix(flow) || flow.local == "*" || flow.remote == "*") return std::nullopt;
    if (with_ports && flow.other_port.empty()) return std::nullopt;
    if (!within && (is_loopback(flow.local) || is_loopback(flow.remote))) return std::nullopt;
    return Key{within ? place_of(flow) : "",     flow.server(), flow.client(), flow.port, flow.protocol,
               with_ports ? flow.other_port : ""};
  }

  void pass(const KeyOf &key_of) {
    std::map<Key, Group> groups;
    for (size_t i = 0; i < flows_.size(); ++i) {
      if (done_[i]) continue;
      const auto key = key_of(flows_[i]);
      if (!key) continue;
      Group &group = groups[*key];
      (flows_[i].opened ? group.clients : group.servers).push_back(i);
    }
    for (const auto &[key, group] : groups) link(group);
  }

  // Of a Unix socket the flow tells the other process, and not who opened it: the lower pid stands for the client.
  void unix_pairs() {
    std::map<std::tuple<std::string, std::string, std::string>, Group> groups;
    for (size_t i = 0; i < flows_.size(); ++i) {
      const Flow &flow = flows_[i];
      if (!is_unix(flow) || flow.pid.empty() || !flow.remote.starts_with("pid:")) continue;
      const std::string peer = flow.remote.substr(4);
      const auto [low, high] = std::minmax(flow.pid, peer);
      Group &group = groups[{flow.host, low, high}];
      (flow.pid == low ? group.clients : group.servers).push_back(i);
    }
    for (const auto &[key, group] : groups) link_unix(group);
  }

  // Both ends are "opened" as far as their flows know: told in the client's words, the server's out is backward.
  void link_unix(const Group &group) {
    for (const size_t client : group.clients) {
      for (const size_t server : group.servers) {
        if (done_[client] || done_[server]) continue;
        const Amount &near = flows_[client].moved, &far = flows_[server].moved;
        links_.push_back({client, server, std::max(near.out, far.in), std::max(near.in, far.out), near.connections, false});
        done_[client] = done_[server] = true;
      }
    }
  }

  // What the client's end calls its peer is not what the server's end calls itself.
  void translated() {
    if (translations_.empty()) return;
    std::map<Service, std::vector<size_t>> servers;
    for (size_t i = 0; i < flows_.size(); ++i)
      if (!done_[i] && !flows_[i].opened) servers[service_of(flows_[i])].push_back(i);
    std::map<std::vector<size_t>, std::vector<size_t>> clients;  // by the servers that may be theirs
    for (size_t i = 0; i < flows_.size(); ++i) {
      if (done_[i] || !flows_[i].opened) continue;
      std::set<size_t> found;
      const auto [begin, end] = translations_.equal_range(service_of(flows_[i]));
      for (auto one = begin; one != end; ++one)
        if (const auto known = servers.find(one->second); known != servers.end())
          found.insert(known->second.begin(), known->second.end());
      if (!found.empty()) clients[{found.begin(), found.end()}].push_back(i);
    }
    for (const auto &[theirs, some] : clients) {
      Group group{some, {}};
      for (const size_t server : theirs)
        if (!done_[server]) group.servers.push_back(server);
      link(group);
    }
  }

  static Service service_of(const Flow &flow) { return {flow.protocol, flow.client(), flow.server(), flow.port}; }

  // A datagram socket that is not connected serves all of its host's addresses, and does not tell its peers.
  void wildcards() {
    std::map<std::string, std::set<std::string>> hosts;
    for (const Flow &flow : flows_)
      if (flow.local != "*" && !is_loopback(flow.local)) hosts[flow.local].insert(flow.host);
    pass([&](const Flow &flow) -> std::optional<Key> {
      if (flow.protocol != "udp" || flow.port.empty()) return std::nullopt;
      if (!flow.opened) return flow.remote == "*" ? std::optional(Key{flow.host, flow.port, "", "", "", ""}) : std::nullopt;
      if (is_loopback(flow.remote)) return Key{flow.host, flow.port, "", "", "", ""};
      const auto owner = hosts.find(flow.remote);
      if (owner == hosts.end() || owner->second.size() != 1) return std::nullopt;
      return Key{*owner->second.begin(), flow.port, "", "", "", ""};
    });
  }

  double sum(const std::vector<size_t> &side, Part part) const {
    double total = 0;
    for (const size_t i : side) total += part(flows_[i]);
    return total;
  }

  void link(const Group &group) {
    if (group.clients.empty() || group.servers.empty()) return;
    if (group.clients.size() * group.servers.size() > kMostPairs)
      throw query::TooMuch(std::to_string(group.clients.size()) + " clients of " + std::to_string(group.servers.size()) +
                           " servers of one port are more than can be paired; ask for less with --tag or a shorter time");
    const bool estimated = group.clients.size() > 1 && group.servers.size() > 1;
    const size_t first = links_.size();
    for (const size_t client : group.clients)
      for (const size_t server : group.servers) links_.push_back({client, server, 0, 0, 0, estimated});
    for (const size_t client : group.clients) links_.push_back({client, kUnknown, 0, 0, 0, false});
    for (const size_t server : group.servers) links_.push_back({kUnknown, server, 0, 0, 0, false});
    for (const Measure &measure : kMeasures) divide(first, measure, sum(group.clients, measure.of), sum(group.servers, measure.of));
    const auto nothing = [](const Link &one) { return one.forward <= 0 && one.backward <= 0; };
    links_.erase(std::remove_if(links_.begin() + static_cast<std::ptrdiff_t>(first), links_.end(), nothing), links_.end());
    for (const auto *side : {&group.clients, &group.servers})
      for (const size_t i : *side) done_[i] = true;
  }

  // What both ends saw by the shares of each; what only one side saw, by its shares, to nobody known.
  void divide(size_t first, const Measure &measure, double by_clients, double by_servers) {
    const double most = std::max(by_clients, by_servers), least = std::min(by_clients, by_servers);
    if (most <= 0) return;
    const bool same = most - least <= kSame * most;
    const double both = same ? most : least;
    const double clients_only = same ? 0 : by_clients - least, servers_only = same ? 0 : by_servers - least;
    for (size_t i = first; i < links_.size(); ++i) {
      Link &one = links_[i];
      const double client = one.client == kUnknown || by_clients <= 0 ? 0 : measure.of(flows_[one.client]) / by_clients;
      const double server = one.server == kUnknown || by_servers <= 0 ? 0 : measure.of(flows_[one.server]) / by_servers;
      if (one.client == kUnknown)
        one.*measure.in = servers_only * server;
      else if (one.server == kUnknown)
        one.*measure.in = clients_only * client;
      else
        one.*measure.in = both * client * server;
    }
  }

  void alone(size_t i) {
    const Flow &flow = flows_[i];
    Link link{flow.opened ? i : kUnknown, flow.opened ? kUnknown : i, forward(flow), backward(flow), connections(flow), false};
    links_.push_back(link);
  }

  const std::vector<Flow> &flows_;
  const Translations &translations_;
  std::vector<bool> done_;
  std::vector<Link> links_;
};

}  // namespace

std::vector<Link> paired(const std::vector<Flow> &flows, const Translations &translations) {
  return Pairing(flows, translations).links();
}

}  // namespace atalaya::graph
