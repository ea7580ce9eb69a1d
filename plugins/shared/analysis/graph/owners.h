// SPDX-License-Identifier: Apache-2.0
// The location of each address, according to the flows that have it as their own.
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
  // The place of the address for the host of this flow: its own places first, because other hosts may have the same private
  // addresses. Nothing if several places have it.
  std::optional<Place> of(const std::string &address, const Flow &seen_by) const;

 private:
  std::map<std::string, std::set<Place>> places_;
};

}  // namespace atalaya::graph
