// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/graph/owners.h"

namespace atalaya::graph {

Owners::Owners(const std::vector<Flow> &flows) {
  for (const Flow &flow : flows)
    if (flow.local != "*" && !flow.local.empty() && !is_loopback(flow.local)) places_[flow.local].insert(place_of(flow));
}

std::optional<Place> Owners::find_place(const std::string &address, const Flow &seen_by) const {
  if (is_loopback(address)) return place_of(seen_by);
  const auto found = places_.find(address);
  if (found == places_.end()) return std::nullopt;
  std::vector<Place> own;
  for (const Place &place : found->second)
    if (place.first == seen_by.host) own.push_back(place);
  if (own.size() == 1) return own.front();
  return own.empty() && found->second.size() == 1 ? std::optional(*found->second.begin()) : std::nullopt;
}

}  // namespace atalaya::graph
