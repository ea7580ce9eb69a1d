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
  std::string_view unit;             // unit of the resource
  std::vector<std::string> metrics;  // metrics whose sum is the resource
  double scale = 1;                  // factor from the unit of the metrics to `unit`
  std::vector<std::string> keys;     // tags that name a part, in addition to the host; empty: the host
  Role role = Role::cause;
  Capacity capacity = Capacity::one;
  double size = 1;                      // the capacity, for Capacity::one
  double min_share_of_capacity = 0.01;  // share of the capacity: smaller differences are not reported
  int rank = 0;                         // order of causes with equal shares of their capacities: the more specific one comes first
  std::vector<store::TagFilter> tags = {};
  // A metric that the same source reports in every window. If it has values where `metrics` have none, nothing was used. Empty:
  // no such metric.
  std::string_view witness = {};
};

// The compared resources. `by`: the tag that identifies the parts of resources that processes use.
std::vector<Resource> resources(std::string_view by);

}  // namespace atalaya::explain
