// SPDX-License-Identifier: Apache-2.0
// Racks of hosts, and the locality of a task's data.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace atalaya::hadoop {

class Topology {
 public:
  using Names = std::map<std::string, std::string, std::less<>>;
  // racks: a host's rack, "/dc1/r1" or "/r1". hosts: the name in metrics of a host in histories; for ".domain", its
  // replacement.
  Topology() = default;
  Topology(Names racks, Names hosts) : racks_(std::move(racks)), hosts_(std::move(hosts)) {}

  // The host's name in metrics. Also accepts "/dc/rack/host", "tracker_host:..." and "host:port".
  std::string host(std::string_view written) const;
  // node, rack, datacenter or remote, by the locations of the data: hosts, with or without racks, separated by commas. Empty:
  // unknown.
  std::string locality(std::string_view host, std::string_view places) const;
  // Translates the framework's word; data centres are known only from racks and locations.
  std::string locality_from_word(std::string_view word, std::string_view host, std::string_view places) const;

 private:
  std::string_view rack_of(std::string_view host, std::string_view written) const;

  Names racks_, hosts_;
};

}  // namespace atalaya::hadoop
