// SPDX-License-Identifier: Apache-2.0
// The resources that are compared, and their metrics.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/store/store.h"

namespace atalaya::explain {

// Causes precede their effects in the result.
enum class Role { cause, effect };

// The amount that counts as all of a resource, for the order of causes.
enum class Capacity { cores, memory, disk, network, forks, switches, one };

struct Resource {
  std::string_view id;               // "cpu"
  std::string_view name;             // "CPU"
  std::string_view unit;             // of the values below
  std::vector<std::string> metrics;  // that are added
  double scale = 1;                  // from the unit of the metrics
  std::vector<std::string> keys;     // tags that name a part, in addition to the host; empty: the host
  Role role = Role::cause;
  Capacity capacity = Capacity::one;
  double size = 1;                      // of Capacity::one
  double min_share_of_capacity = 0.01;  // of the capacity: smaller differences are not reported
  int rank = 0;                         // of two causes with equal parts of their capacities, the more specific one comes first
  std::vector<store::TagFilter> tags = {};
  // A metric that the source of the metrics reports in each window: where it has values and they have none, nothing was used.
  // Empty: there is no such metric.
  std::string_view witness = {};
};

// In the order of the pages. `by`: the tag of the parts of resources that processes use.
std::vector<Resource> resources(std::string_view by);

}  // namespace atalaya::explain
