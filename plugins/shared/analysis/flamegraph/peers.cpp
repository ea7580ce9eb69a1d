// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/flamegraph/peers.h"

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "plugins/shared/analysis/graph/read.h"

namespace atalaya::flamegraph {
namespace {

struct Peer {
  std::string remote, port;
  bool opened = true;  // the thread that waited is the client
};

// "10.0.0.2:5432", or "10.0.0.3 as client of port 5432".
std::optional<Peer> peer_in(const std::string &owner) {
  constexpr std::string_view kClient = " as client of port ";
  if (const size_t at = owner.find(kClient); at != std::string::npos)
    return Peer{owner.substr(0, at), owner.substr(at + kClient.size()), false};
  const graph::Endpoint end = graph::endpoint_of(owner);
  const bool is_address = !end.port.empty() && end.address.find_first_not_of("0123456789abcdef.:") == std::string::npos;
  return is_address && end.port.find_first_not_of("0123456789") == std::string::npos ? std::optional(Peer{end.address, end.port})
                                                                                     : std::nullopt;
}

std::string value(const store::Tags &tags, const char *key) {
  const auto found = tags.find(key);
  return found == tags.end() ? "" : found->second;
}

std::string process_of(const graph::Flow &flow, const std::string &host) {
  std::string text = flow.process;
  if (!flow.pid.empty()) text += "-" + flow.pid;
  return flow.host == host ? text : text + " on " + flow.host;
}

}  // namespace

Peers::Peers(std::vector<graph::Flow> flows, const graph::Translations &translations)
    : flows_(std::move(flows)), links_(graph::paired(flows_, translations)) {}

// Finds the remote end with the most bytes. Flows without a pid belong to ended processes.
const graph::Flow *Peers::find(const std::string &host, const std::string &pid, const std::string &remote, const std::string &port,
                               bool opened) const {
  const graph::Flow *best = nullptr;
  double maximum = -1;
  for (const graph::Link &link : links_) {
    const size_t own = opened ? link.client : link.server, other = opened ? link.server : link.client;
    if (own == graph::kUnknown || other == graph::kUnknown) continue;
    const graph::Flow &flow = flows_[own];
    const bool is_own = flow.host == host && flow.pid == pid && flow.opened == opened && flow.remote == remote && flow.port == port;
    if (!is_own || link.forward + link.backward <= maximum) continue;
    maximum = link.forward + link.backward;
    best = &flows_[other];
  }
  return best;
}

std::string Peers::owner_of(const store::Tags &tags) const {
  std::string owner = value(tags, "owner");
  if (owner.empty()) return "(no owner)";
  const auto peer = peer_in(owner);
  const std::string host = value(tags, "host");
  const graph::Flow *other = peer ? find(host, value(tags, "pid"), peer->remote, peer->port, peer->opened) : nullptr;
  return other == nullptr ? owner : process_of(*other, host) + " (" + owner + ")";
}

OwnerName read_owner_names(store::Store &store, const store::Range &range, query::Budget &budget) {
  graph::Translations translations;
  graph::add_reported_translations(range, store, budget, translations);
  const auto peers = std::make_shared<const Peers>(graph::read_flows({}, range, store, budget), translations);
  return [peers](const store::Tags &tags) { return peers->owner_of(tags); };
}

}  // namespace atalaya::flamegraph
