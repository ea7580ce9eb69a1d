// SPDX-License-Identifier: Apache-2.0
// Where hosts stand, and how far a task's data is from it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace atalaya::hadoop {

class Topology {
 public:
  using Names = std::map<std::string, std::string, std::less<>>;
  // racks: a host's rack, "/dc1/r1" or "/r1". hosts: what a host that histories call so is called in metrics; of ".domain": what
  // stands in its place.
  Topology() = default;
  Topology(Names racks, Names hosts) : racks_(std::move(racks)), hosts_(std::move(hosts)) {}

  // The host's name in metrics. Takes "/dc/rack/host", "tracker_host:..." and "host:port", too.
  std::string host(std::string_view written) const;
  // node, rack, datacenter or remote, by the places of the data: hosts, with or without their racks, separated by commas. Empty
  // where it cannot be told.
  std::string locality(std::string_view host, std::string_view places) const;
  // The framework's word as ours; a data centre is known only by the racks and places.
  std::string locality_from_word(std::string_view word, std::string_view host, std::string_view places) const;

 private:
  std::string_view rack_of(std::string_view host, std::string_view written) const;

  Names racks_, hosts_;
};

}  // namespace atalaya::hadoop
