// SPDX-License-Identifier: Apache-2.0
// Maps hosts to racks, and computes the locality of a task: the distance between its host and
// its input data.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace atalaya::hadoop {

class Topology {
 public:
  using Names = std::map<std::string, std::string, std::less<>>;
  // racks: host -> rack, "/dc1/r1" or "/r1". hosts: host name in histories -> host name in metrics; ".domain" -> replacement
  // suffix.
  Topology() = default;
  Topology(Names racks, Names hosts) : racks_(std::move(racks)), hosts_(std::move(hosts)) {}

  // Returns the host name that metrics use. Also accepts "/dc/rack/host", "tracker_host:..." and "host:port".
  std::string host(std::string_view written) const;
  // Returns node, rack, datacenter or remote; empty: unknown. `places`: the comma-separated hosts of the data, with or without
  // racks.
  std::string locality(std::string_view host, std::string_view places) const;
  // Converts the framework's locality level. `host` and `places` are needed to detect the level datacenter.
  std::string locality_from_level(std::string_view level, std::string_view host, std::string_view places) const;

 private:
  std::string_view rack_of(std::string_view host, std::string_view written) const;

  Names racks_, hosts_;
};

}  // namespace atalaya::hadoop
