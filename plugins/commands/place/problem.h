// SPDX-License-Identifier: Apache-2.0
// The placement problem and its fitness function.
//
//   without overload:          fitness = cpu x memory x network, each between 0 and 1
//                              cpu, memory = 1 / (1 + sum of penalties) / (1 + sum of fixed penalties)
//                              network = 1 / (1 + share of bytes that cross hosts)
//   with overload:             fitness in (-1, 0); it falls with the sum over hosts, cores and memory of the squared excess, so an
//                              unavoidable overload is distributed evenly
//   more hosts than allowed:   fitness = -(hosts - max_hosts)
//
// So the fitness rises with fewer hosts and with less traffic between hosts. The penalty of a host in use is its free share of the
// capacity, that of an unused host is 0. If the fixed processes (those that stay) alone overload a host, it has a fixed penalty,
// and each item placed there adds its share of the capacity: moving items away increases the fitness but does not remove the
// overload. A host is in use if an item is placed on it, or if a process of the placed kind stays there.
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
  bool known = true;  // false: the capacity is unknown
};

struct Item {
  std::string name;  // a container or a process
  std::string command;
  std::string host;       // name of the current host
  graph::Resources used;  // zero if unknown
};

// The index of a host for each item.
using Placement = std::vector<size_t>;

struct Traffic {
  size_t a = 0, b = 0;
  double bytes = 0;  // in both directions
};

struct Problem {
  std::vector<HostCapacity> hosts;
  std::vector<Item> items;
  std::vector<graph::Resources> fixed;                    // by host: usage of the processes that stay
  std::vector<bool> kept;                                 // by host: it is in use in every placement
  std::vector<Traffic> between;                           // between items a and b
  std::vector<Traffic> to_host;                           // between item a and the processes that stay on host b
  double crossing = 0;                                    // bytes that cross hosts in every placement
  double total = 0;                                       // bytes that could cross hosts, including `crossing`
  double fill = 1;                                        // share of the capacity that counts as full
  size_t max_hosts = std::numeric_limits<size_t>::max();  // maximum hosts with items
};

struct Score {
  double cpu = 0, memory = 0, network = 0;  // the factors; NaN if the capacity of a host in use is unknown
  double fitness = 0;
  double overload = 0;                 // 0: the placement fits
  size_t hosts = 0;                    // number of hosts in use
  double crossing = 0;                 // bytes that cross hosts
  std::vector<graph::Resources> used;  // by host
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
// The weight of the penalty of an overload: it exceeds the sum of all other penalties and of the traffic.
double overflow_of(const Problem &problem);
// The penalty of one host in a factor, and its overload. NaN if the host is in use and its capacity is unknown.
struct Penalty {
  double sum = 0, overload = 0;
};
Penalty penalty_of(const Problem &problem, double overflow, size_t host, const graph::Resources &used, bool in_use,
                   const ResourceOf &resource);
// The sum of the penalties of hosts that fixed processes overload; it is part of every placement.
double fixed_penalty_of(const Problem &problem, double overflow, const ResourceOf &resource);
// Computes the fitness. `product`: product of the three factors; `placed_on`: number of hosts with items.
double fitness_from(const Problem &problem, double product, double overload, size_t placed_on);

Score score_of(const Problem &problem, const Placement &placement);
// Returns only the fitness; reuses the memory of `score`, for a search.
double fitness_of(const Problem &problem, const Placement &placement, Score &score);
// Cost of an evaluation in steps: the number of items and of pairs with traffic.
size_t steps_of(const Problem &problem);
// The current placement, as the start of a search. If items are on hosts outside the problem, or on more hosts than allowed (then
// those of the emptiest hosts), each is placed where it fits best. Throws TooMuch after the time limit.
Placement current(const Problem &problem, query::Budget &budget);

// The current state, with all hosts that have items, also those on which no item may be placed.
struct CurrentState {
  Problem problem;
  Placement placement;
};

}  // namespace atalaya::place
