// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/place/bound.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

namespace atalaya::place {
namespace {

// The minimum number of hosts in use with enough of this resource.
size_t fewest_hosts(const Problem &problem, const ResourceOf &resource) {
  double needed = 0;
  for (const Item &item : problem.items) needed += item.used.*resource.used;
  size_t count = 0;
  std::vector<double> free;
  for (size_t host = 0; host < problem.hosts.size(); ++host) {
    const double room = problem.hosts[host].*resource.capacity * problem.fill - problem.fixed[host].*resource.used;
    if (problem.kept[host]) {
      ++count;
      needed -= std::max(0.0, room);
    } else {
      free.push_back(room);
    }
  }
  std::sort(free.begin(), free.end(), std::greater<>());
  for (size_t i = 0; i < free.size() && needed > 1e-9 && free[i] > 0; ++i, ++count) needed -= free[i];
  return std::max<size_t>(count, problem.items.empty() ? 0 : 1);
}

// The minimum sum of the free shares if `count` hosts are in use.
double min_free(const Problem &problem, size_t hosts, const ResourceOf &resource) {
  double load = 0, smallest = std::numeric_limits<double>::infinity();
  for (const Item &item : problem.items) load += item.used.*resource.used;
  for (size_t host = 0; host < problem.hosts.size(); ++host) {
    load += std::max(0.0, problem.fixed[host].*resource.used);
    smallest = std::min(smallest, problem.hosts[host].*resource.capacity * problem.fill);
  }
  return smallest > 0 ? std::max(0.0, static_cast<double>(hosts) - load / smallest) : 0;
}

}  // namespace

double bound_of(const Problem &problem) {
  const size_t hosts = std::max(fewest_hosts(problem, kCpu), fewest_hosts(problem, kMemory));
  const double overflow = overflow_of(problem);
  double bound = problem.total > 0 ? 1 / (1 + problem.crossing / problem.total) : 1;
  for (const ResourceOf &resource : {kCpu, kMemory})
    bound /= (1 + min_free(problem, hosts, resource)) * (1 + fixed_penalty_of(problem, overflow, resource));
  return bound;
}

}  // namespace atalaya::place
