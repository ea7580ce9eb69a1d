// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/graph/pairing.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "plugins/shared/analysis/graph/owners.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::graph {
namespace {

// Ends with smaller differences are equal: some bytes are always in flight at the end of a window.
constexpr double kTolerance = 0.01;
constexpr size_t kMaxPairs = 1'000'000;
constexpr const char *kAny = "*";

using Key = std::tuple<std::string, std::string, std::string, std::string, std::string, std::string>;

struct Group {
  std::vector<size_t> clients, servers;
};

// Traffic as sent and received by the client.
struct Direction {
  double Amount::*of_client;
  double Amount::*of_server;
  double Link::*in;
};
constexpr Direction kDirections[] = {{&Amount::out, &Amount::in, &Link::forward}, {&Amount::in, &Amount::out, &Link::backward}};

std::string text_of(const Place &place) {
  return place.first + '\n' + place.second;
}

std::string scope_of(const Flow &flow) {
  const bool own = is_loopback(flow.local) || is_loopback(flow.remote);
  return own ? text_of(place_of(flow)) : flow.host;
}

bool is_udp(const Flow &flow) {
  return flow.protocol == "udp";
}

using ProcessKey = std::tuple<std::string, std::string, std::string>;

ProcessKey process_of(const Flow &flow) {
  return {flow.host, flow.pid, flow.process};
}

bool is_unix(const Flow &flow) {
  return flow.protocol == "unix";
}

bool names_a_pid(const Flow &flow) {
  return is_unix(flow) && !flow.pid.empty() && flow.remote.starts_with("pid:");
}

class Pairing {
 public:
  Pairing(const std::vector<Flow> &flows, const Translations &translations)
      : flows_(flows), translations_(translations), owners_(flows), divided_(flows.size(), false) {
    left_.reserve(flows.size());
    for (const Flow &flow : flows) left_.push_back(flow.moved);
  }

  std::vector<Link> links() {
    // The most reliable keys first: the own host before other hosts, whose private addresses may be equal; both ports before
    // merged ones.
    for (const bool with_ports : {true, false}) {
      for (const bool within : {true, false}) pass([&](const Flow &flow) { return key_of(flow, with_ports, within); });
    }
    unix_pairs();
    translated();
    datagrams();
    for (size_t i = 0; i < flows_.size(); ++i)
      if (has_remaining(i)) attribute_rest(i);
    return std::move(links_);
  }

 private:
  using KeyOf = std::function<std::optional<Key>(const Flow &)>;

  static std::optional<Key> key_of(const Flow &flow, bool with_ports, bool within) {
    if (is_unix(flow) || flow.local == "*" || flow.remote == "*") return std::nullopt;
    if (with_ports && flow.other_port.empty()) return std::nullopt;
    if (!within && (is_loopback(flow.local) || is_loopback(flow.remote))) return std::nullopt;
    return Key{within ? scope_of(flow) : "",     flow.server(), flow.client(), flow.port, flow.protocol,
               with_ports ? flow.other_port : ""};
  }

  void pass(const KeyOf &key_of) {
    std::map<Key, Group> groups;
    for (size_t i = 0; i < flows_.size(); ++i) {
      if (!has_remaining(i)) continue;
      const auto key = key_of(flows_[i]);
      if (!key) continue;
      Group &group = groups[*key];
      (flows_[i].opened ? group.clients : group.servers).push_back(i);
    }
    for (const auto &[key, group] : groups) link(group);
  }

  // The flow of a Unix socket names the other process, but not the one that connected: the smaller pid, compared as text,
  // represents the client.
  void unix_pairs() {
    std::map<std::tuple<std::string, std::string, std::string>, Group> groups;
    std::set<std::tuple<std::string, std::string, std::string>> reported;  // reporter and its peer
    for (size_t i = 0; i < flows_.size(); ++i) {
      const Flow &flow = flows_[i];
      if (!names_a_pid(flow)) continue;
      const std::string peer = flow.remote.substr(4);
      reported.insert({flow.host, flow.pid, peer});
      const auto [low, high] = std::minmax(flow.pid, peer);
      Group &group = groups[{flow.host, low, high}];
      (flow.pid == low ? group.clients : group.servers).push_back(i);
    }
    for (const auto &[key, group] : groups) link(group);
    inherited(reported);
  }

  // The kernel names the process that called listen() or socketpair(), which may not be the one that answers: systemd, a parent
  // that forked. So a process may name a peer that has not reported it, and be named by another one that it has not reported.
  void inherited(const std::set<std::tuple<std::string, std::string, std::string>> &reported) {
    std::map<std::pair<std::string, std::string>, Group> groups;  // by host and pid of the client
    for (size_t i = 0; i < flows_.size(); ++i) {
      const Flow &flow = flows_[i];
      if (!names_a_pid(flow) || !has_remaining(i)) continue;
      const std::string peer = flow.remote.substr(4);
      if (reported.count({flow.host, peer, flow.pid}) > 0) continue;
      groups[{flow.host, flow.pid}].clients.push_back(i);
      groups[{flow.host, peer}].servers.push_back(i);
    }
    for (const auto &[key, group] : groups) link(group);
  }

  using Translated = Translations::value_type;
  using ByService = std::map<Service, std::vector<size_t>>;

  static Service service_of(const std::string &protocol, const std::string &server, const std::string &port) {
    return {protocol, "", server, port};
  }

  // The client's name for its peer may differ from the server's own name.
  void translated() {
    if (translations_.empty()) return;
    ByService servers;
    for (size_t i = 0; i < flows_.size(); ++i)
      if (const Flow &flow = flows_[i]; has_remaining(i) && !flow.opened)
        servers[service_of(flow.protocol, flow.local, flow.port)].push_back(i);
    std::map<Service, std::vector<const Translated *>> known;
    for (const Translated &one : translations_)
      known[service_of(one.first.protocol, one.first.server, one.first.port)].push_back(&one);
    std::map<std::vector<size_t>, std::vector<size_t>> clients;  // by their possible servers
    for (size_t i = 0; i < flows_.size(); ++i) {
      const Flow &flow = flows_[i];
      if (!has_remaining(i) || !flow.opened) continue;
      const auto of_service = known.find(service_of(flow.protocol, flow.remote, flow.port));
      if (of_service == known.end()) continue;
      std::set<size_t> found;
      for (const Translated *one : of_service->second)
        if (flow.local == one->first.client || (flow.local == kAny && is_here(one->first.client, flow)))
          add_servers(one->second, servers, found);
      if (!found.empty()) clients[of_port(flow, {found.begin(), found.end()})].push_back(i);
    }
    for (const auto &[theirs, some] : clients) link({some, theirs});
  }

  // Where ports are reported, those of the same client's port. It may be translated too: then all of them.
  std::vector<size_t> of_port(const Flow &client, const std::vector<size_t> &servers) const {
    std::vector<size_t> same;
    std::copy_if(servers.begin(), servers.end(), std::back_inserter(same),
                 [&](size_t i) { return !client.other_port.empty() && flows_[i].other_port == client.other_port; });
    return same.empty() ? servers : same;
  }

  void add_servers(const Service &real, const ByService &servers, std::set<size_t> &found) const {
    for (const std::string &local : {real.server, std::string(kAny)}) {
      const auto at = servers.find(service_of(real.protocol, local, real.port));
      if (at == servers.end()) continue;
      for (const size_t i : at->second)
        if (const Flow &flow = flows_[i];
            (flow.remote == real.client || flow.remote == kAny) && (local != kAny || is_here(real.server, flow)))
          found.insert(i);
    }
  }

  // Whether the address may be of the place of the flow.
  bool is_here(const std::string &address, const Flow &flow) const {
    return owners_.find_place(address, flow).value_or(place_of(flow)) == place_of(flow);
  }

  // An unconnected datagram socket has no own address if it is bound to all of its host and network namespace, and no peer if its
  // program receives without the sender's address.
  void datagrams() {
    for (const bool with_ports : {true, false})
      for (const bool own_address : {true, false})
        pass([&](const Flow &flow) { return places_key(flow, with_ports, own_address); });
    for (const bool own_address : {true, false}) pass([&](const Flow &flow) { return server_key(flow, own_address); });
    pass([&](const Flow &flow) { return client_key(flow); });
    unnamed_replies();
  }

  // Both places are known: each end names the other one.
  std::optional<Key> places_key(const Flow &flow, bool with_ports, bool own_address) const {
    if (!is_udp(flow) || flow.port.empty() || (with_ports && flow.other_port.empty())) return std::nullopt;
    if (!flow.opened && (flow.local == "*") == own_address) return std::nullopt;
    const auto peer = owners_.find_place(flow.remote, flow);
    if (!peer) return std::nullopt;
    const Place here = place_of(flow), &server = flow.opened ? *peer : here, &client = flow.opened ? here : *peer;
    const std::string address = own_address ? flow.server() : kAny;
    return Key{text_of(server),
               address,
               flow.port,
               text_of(client),
               with_ports ? flow.other_port : "",
               is_loopback(flow.remote) ? "loopback" : ""};
  }

  // The server does not know its clients, or not their places.
  std::optional<Key> server_key(const Flow &flow, bool own_address) const {
    if (!is_udp(flow) || flow.port.empty()) return std::nullopt;
    const auto peer = owners_.find_place(flow.remote, flow);
    if (!flow.opened) {
      if (peer || (flow.local == "*") == own_address) return std::nullopt;
      return Key{text_of(place_of(flow)), flow.local, flow.port, "", "", ""};
    }
    if (!peer) return std::nullopt;
    return Key{text_of(*peer), own_address ? flow.remote : kAny, flow.port, "", "", ""};
  }

  // No flow has the server's address as its own: the server names its clients. A server with other clients is none of these.
  std::optional<Key> client_key(const Flow &flow) const {
    if (!is_udp(flow) || flow.port.empty()) return std::nullopt;
    const auto peer = owners_.find_place(flow.remote, flow);
    if (!flow.opened) {
      if (!peer || flow.local != "*" || !is_whole(flow)) return std::nullopt;
      return Key{text_of(*peer), flow.port, "", "", "", ""};
    }
    if (peer || flow.remote == kAny) return std::nullopt;
    return Key{text_of(place_of(flow)), flow.port, "", "", "", ""};
  }

  bool is_whole(const Flow &flow) const {
    const Amount &left = left_[static_cast<size_t>(&flow - flows_.data())];
    return left.out >= flow.moved.out && left.in >= flow.moved.in;
  }

  // Received without the sender's address: from one of the servers that the process sends to.
  void unnamed_replies() {
    std::map<ProcessKey, std::set<std::pair<ProcessKey, std::string>>>
        servers_sent_to;  // the server processes and ports to which the process sends
    for (const Link &one : links_)
      if (one.client != kUnknown && one.server != kUnknown && is_udp(flows_[one.client]))
        servers_sent_to[process_of(flows_[one.client])].insert({process_of(flows_[one.server]), flows_[one.server].port});
    std::map<std::pair<ProcessKey, std::string>, std::vector<size_t>> servers;
    for (size_t i = 0; i < flows_.size(); ++i)
      if (is_udp(flows_[i]) && !flows_[i].opened && has_remaining(i)) servers[{process_of(flows_[i]), flows_[i].port}].push_back(i);
    std::map<std::vector<size_t>, std::vector<size_t>> clients;  // by their possible servers
    for (size_t i = 0; i < flows_.size(); ++i) {
      const Flow &flow = flows_[i];
      const auto known = servers_sent_to.find(process_of(flow));
      if (!is_udp(flow) || !flow.opened || flow.remote != kAny || !has_remaining(i) || known == servers_sent_to.end()) continue;
      std::vector<size_t> theirs;
      for (const auto &server : known->second)
        for (const size_t end : servers[server])
          if (owners_.find_place(flows_[end].remote, flows_[end]).value_or(place_of(flow)) == place_of(flow)) theirs.push_back(end);
      if (!theirs.empty()) clients[theirs].push_back(i);
    }
    for (const auto &[theirs, some] : clients) link({some, theirs});
  }

  double sum(const std::vector<size_t> &side, double Amount::*part) const {
    double total = 0;
    for (const size_t i : side) total += left_[i].*part;
    return total;
  }

  // Amounts that are divided only among flows of one process are not estimates: their sum is exact for the process.
  bool several_processes(const std::vector<size_t> &side) const {
    return std::any_of(side.begin(), side.end(),
                       [&](size_t i) { return process_of(flows_[i]) != process_of(flows_[side.front()]); });
  }

  std::vector<size_t> with_remaining(const std::vector<size_t> &side) const {
    std::vector<size_t> some;
    std::copy_if(side.begin(), side.end(), std::back_inserter(some), [this](size_t i) { return has_remaining(i); });
    return some;
  }

  void link(const Group &all) {
    const Group group{with_remaining(all.clients), with_remaining(all.servers)};
    if (group.clients.empty() || group.servers.empty()) return;
    if (links_.size() + group.clients.size() * group.servers.size() > kMaxPairs)
      throw query::TooMuch(std::to_string(group.clients.size()) + " clients of " + std::to_string(group.servers.size()) +
                           " servers of one port are too many to be paired; narrow the query with --tag or a shorter time range");
    const bool estimated = several_processes(group.clients) && several_processes(group.servers);
    const size_t first = links_.size();
    for (const size_t client : group.clients)
      for (const size_t server : group.servers) links_.push_back({client, server, 0, 0, estimated});
    for (const Direction &direction : kDirections) divide(group, first, direction);
    const auto nothing = [](const Link &one) { return one.forward <= 0 && one.backward <= 0; };
    links_.erase(std::remove_if(links_.begin() + static_cast<std::ptrdiff_t>(first), links_.end(), nothing), links_.end());
  }

  // Divides the traffic that both sides counted by the shares of each. Traffic that only one side counted stays with it, by its
  // shares: its owner among several is a guess.
  void divide(const Group &group, size_t first, const Direction &direction) {
    const double by_clients = sum(group.clients, direction.of_client), by_servers = sum(group.servers, direction.of_server);
    const double larger = std::max(by_clients, by_servers), smaller = std::min(by_clients, by_servers);
    if (smaller <= 0) return;
    const bool same = larger - smaller <= kTolerance * larger;
    const double both = same ? larger : smaller;
    const bool guessed = !same && several_processes(by_clients > by_servers ? group.clients : group.servers);
    for (size_t i = first; i < links_.size(); ++i) {
      Link &one = links_[i];
      const double client = left_[one.client].*direction.of_client / by_clients;
      const double server = left_[one.server].*direction.of_server / by_servers;
      one.*direction.in = both * client * server;
      one.estimated = one.estimated || guessed;
    }
    const bool clients_more = !same && by_clients > by_servers, servers_more = !same && by_servers > by_clients;
    keep(group.clients, direction.of_client, clients_more ? 1 - both / by_clients : 0);
    keep(group.servers, direction.of_server, servers_more ? 1 - both / by_servers : 0);
  }

  void keep(const std::vector<size_t> &side, double Amount::*part, double share) {
    for (const size_t i : side) {
      left_[i].*part *= share;
      if (share > 0 && several_processes(side)) divided_[i] = true;
    }
  }

  bool has_remaining(size_t i) const { return left_[i].out > 0 || left_[i].in > 0; }

  void attribute_rest(size_t i) {
    const Amount &left = left_[i];
    if (flows_[i].opened)
      links_.push_back({i, kUnknown, left.out, left.in, divided_[i]});
    else
      links_.push_back({kUnknown, i, left.in, left.out, divided_[i]});
  }

  const std::vector<Flow> &flows_;
  const Translations &translations_;
  const Owners owners_;
  std::vector<Amount> left_;   // by flow: traffic without a known other end
  std::vector<bool> divided_;  // by flow: whether the result is an estimate
  std::vector<Link> links_;
};

}  // namespace

std::vector<Link> paired(const std::vector<Flow> &flows, const Translations &translations) {
  return Pairing(flows, translations).links();
}

}  // namespace atalaya::graph
