// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/hadoop/model/topology.h"

#include <algorithm>

#include "core/base/text/text.h"

namespace atalaya::hadoop {
namespace {

// The parts of "/dc/rack/host"; without a rack it is empty.
struct Place {
  std::string_view rack, host;
};

Place place_of(std::string_view written) {
  const size_t slash = written.rfind('/');
  if (!written.starts_with('/') || slash == 0) return {{}, written.substr(written.starts_with('/') ? 1 : 0)};
  return {written.substr(0, slash), written.substr(slash + 1)};
}

// Finds the port of "host:port", not the end of an IPv6 address.
std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  const size_t colon = host.find(':');
  return colon != std::string_view::npos && host.find(':', colon + 1) == std::string_view::npos ? host.substr(0, colon) : host;
}

// "/dc/rack" without its last part; empty for "/rack".
std::string_view datacenter_of(std::string_view rack) {
  const size_t slash = rack.rfind('/');
  return slash == std::string_view::npos || slash == 0 ? std::string_view{} : rack.substr(0, slash);
}

// Distances, nearest first.
enum class Distance { node, rack, datacenter, remote, unknown };

const char *word_of(Distance distance) {
  switch (distance) {
    case Distance::node:
      return "node";
    case Distance::rack:
      return "rack";
    case Distance::datacenter:
      return "datacenter";
    case Distance::remote:
      return "remote";
    case Distance::unknown:
      break;
  }
  return "";
}

Distance distance(std::string_view rack, std::string_view other) {
  if (rack.empty() || other.empty()) return Distance::unknown;
  if (rack == other) return Distance::rack;
  const std::string_view here = datacenter_of(rack), there = datacenter_of(other);
  if (here.empty() != there.empty()) return Distance::unknown;
  return !here.empty() && here == there ? Distance::datacenter : Distance::remote;
}

}  // namespace

std::string Topology::host(std::string_view written) const {
  // Hadoop 1: "tracker_n1:localhost/127.0.0.1:40001".
  if (written.starts_with("tracker_")) {
    written.remove_prefix(8);
    written = written.substr(0, written.find(':'));
  }
  const std::string_view name = without_port(place_of(written).host);
  if (const auto known = hosts_.find(name); known != hosts_.end()) return known->second;
  const std::string_view label = name.substr(0, name.find('.'));
  const auto domain = hosts_.find(name.substr(label.size()));
  return domain == hosts_.end() || label.size() == name.size() ? std::string(name) : std::string(label) + domain->second;
}

std::string_view Topology::rack_of(std::string_view host, std::string_view written) const {
  const auto known = racks_.find(host);
  return known == racks_.end() ? written : std::string_view(known->second);
}

std::string Topology::locality(std::string_view host_name, std::string_view places) const {
  Distance nearest = Distance::unknown;
  bool all_known = true;
  const std::string_view here = rack_of(host_name, {});
  while (!places.empty()) {
    const std::string_view one = core::cut_at(places, ',');
    if (one.empty()) continue;
    const std::string other = host(one);
    if (other == host_name) return word_of(Distance::node);
    const Distance found = distance(here, rack_of(other, place_of(one).rack));
    all_known = all_known && found != Distance::unknown;
    nearest = std::min(nearest, found);
  }
  // A nearer replica may be at an unknown location.
  if (!all_known && nearest != Distance::rack) return {};
  return word_of(nearest);
}

std::string Topology::locality_from_level(std::string_view level, std::string_view host_name, std::string_view places) const {
  if (level == "NODE_LOCAL") return "node";
  if (level == "RACK_LOCAL") return "rack";
  if (level == "PROCESS_LOCAL") return "process";
  if (level != "OFF_SWITCH" && level != "ANY") return locality(host_name, places);
  const std::string computed = locality(host_name, places);
  return computed == "datacenter" ? computed : "remote";
}

}  // namespace atalaya::hadoop
