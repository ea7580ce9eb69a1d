// SPDX-License-Identifier: Apache-2.0
// Finds the host and network namespace of an address, from the flows that report it as their local address.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plugins/shared/analysis/graph/flow.h"

namespace atalaya::graph {

using Place = std::pair<std::string, std::string>;  // a host, and a network namespace there

inline Place place_of(const Flow &flow) {
  return {flow.host, flow.netns};
}

class Owners {
 public:
  explicit Owners(const std::vector<Flow> &flows);
  // Returns the place to which the address refers on the host of `seen_by`: a place of that host if one has the address, because
  // other hosts may have the same private address. Nothing if several places have it.
  std::optional<Place> find_place(const std::string &address, const Flow &seen_by) const;

 private:
  std::map<std::string, std::set<Place>> places_;
};

}  // namespace atalaya::graph
