// SPDX-License-Identifier: Apache-2.0
// The placement problem and its fitness function.
//
// The fitness of a placement that fits is the product of three factors between 0 and 1: CPU, memory and network. CPU, memory:
// 1 / (1 + penalties). A host in use has a penalty of its free share; unused hosts have none. If the processes that stay overload
// a host, this divides the factor of every placement equally, and items placed there have a penalty of their share of the
// capacity: moving them away helps, but does not make the host fit. A host is in use if an item is placed on it, or if a process
// of the placed kind stays there. network: 1 / (1 + the share of bytes that cross hosts). So few hosts are weighed against little
// traffic. The fitness of a placement that overloads a host is between -1 and 0, lower with more overload: the sum over hosts,
// cores and memory of the squared excess, so that an overload that cannot be avoided is spread. A placement on more hosts than
// allowed is the worst: its fitness is minus the number of excess hosts.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "plugins/shared/analysis/graph/graph.h"
#include "plugins/shared/store/query/budget.h"

namespace atalaya::place {

struct HostCapacity {
  std::string host;
  double cpu = 0;     // cores
  double memory = 0;  // MiB
  bool known = true;  // else only the name is known
};

struct Item {
  std::string name;  // a container or a process
  std::string command;
  std::string host;       // current host
  graph::Resources used;  // zero if unknown
};

// The index of a host for each item.
using Placement = std::vector<size_t>;

struct Traffic {
  size_t a = 0, b = 0;
  double bytes = 0;  // both ways
};

struct Problem {
  std::vector<HostCapacity> hosts;
  std::vector<Item> items;
  std::vector<graph::Resources> fixed;                    // of each host: use of the processes that stay
  std::vector<bool> kept;                                 // of each host: in use in every placement
  std::vector<Traffic> between;                           // of two items
  std::vector<Traffic> to_host;                           // of item a and the processes that stay on host b
  double crossing = 0;                                    // bytes that cross hosts in every placement
  double total = 0;                                       // all bytes that could cross, including those
  double fill = 1;                                        // share of the capacity that counts as full
  size_t max_hosts = std::numeric_limits<size_t>::max();  // maximum hosts with items
};

struct Score {
  double cpu = 0, memory = 0, network = 0;  // the factors; NaN if the capacity of a host in use is unknown
  double fitness = 0;
  double overload = 0;  // 0: the placement fits
  size_t hosts = 0;     // in use
  double crossing = 0;
  std::vector<graph::Resources> used;  // of each host
  std::vector<bool> in_use, placed_on;
};

// Cores or memory.
struct ResourceOf {
  double graph::Resources::*used;
  double HostCapacity::*capacity;
};
inline constexpr ResourceOf kCpu{&graph::Resources::cpu, &HostCapacity::cpu};
inline constexpr ResourceOf kMemory{&graph::Resources::memory, &HostCapacity::memory};

double part_of(double used, double capacity);
// The weight of an overload in a factor: more than all other hosts and all traffic.
double overflow_of(const Problem &problem);
// What a host adds to the penalties of a factor, and to the overload. NaN if its capacity is unknown and it is in use.
struct Penalty {
  double sum = 0, overload = 0;
};
Penalty penalty_of(const Problem &problem, double overflow, size_t host, const graph::Resources &used, bool in_use,
                   const ResourceOf &resource);
// Penalties of every placement: of hosts that the processes which stay overload.
double fixed_penalty_of(const Problem &problem, double overflow, const ResourceOf &resource);
// The fitness from its parts; `placed_on` is the number of hosts with items.
double fitness_from(const Problem &problem, double product, double overload, size_t placed_on);

Score score_of(const Problem &problem, const Placement &placement);
// The fitness alone, for a search with a reused score.
double fitness_of(const Problem &problem, const Placement &placement, Score &score);
// Cost of an evaluation: number of single items and pairs.
size_t steps_of(const Problem &problem);
// The current placement as the start of a search. Items on hosts outside the problem, or on the emptiest hosts if too many are in
// use, are placed where they fit best, one by one. Throws TooMuch after the time limit.
Placement current(const Problem &problem, query::Budget &budget);

// The current state on all hosts with items, including those that may not get any.
struct CurrentState {
  Problem problem;
  Placement placement;
};

}  // namespace atalaya::place
