// SPDX-License-Identifier: Apache-2.0
// What is placed where, and how good that is.
//
// The fitness of a placement is the product of three factors between 0 and 1: of CPU, of memory, and of the network.
//   CPU, memory: 1 / (1 + penalties). A host in use has a penalty of what it has free, hosts without use have none. One that has
//   more than it has room for has a penalty that all other hosts and all traffic together cannot outweigh, and the larger the more
//   is too much. Where what stays is too much by itself, that divides the factor of every placement alike, and what is placed there
//   has a penalty of its part of the room: moving it away makes the host less full, but not one that fits.
//   A host is in use when something is placed on it, or when something of the kind that is placed stays there.
//   network: 1 / (1 + the part of the bytes that cross hosts).
// So what fits comes before what does not; then few hosts and little traffic between them, each against the other.
// Things on more hosts than are allowed are worse than anything else: then the fitness is how many too many, below 0.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "plugins/shared/analysis/graph/graph.h"
#include "plugins/shared/analysis/query/budget.h"

namespace atalaya::place {

struct Room {
  std::string host;
  double cpu = 0;     // cores
  double memory = 0;  // MiB
  bool known = true;  // else only its name is
};

struct Item {
  std::string name;  // a container, or a process
  std::string command;
  std::string host;       // where it is now
  graph::Resources used;  // nothing where nothing is known of it
};

// A number of a host for each item.
using Placement = std::vector<size_t>;

struct Traffic {
  size_t a = 0, b = 0;
  double bytes = 0;  // both ways
};

struct Problem {
  std::vector<Room> hosts;
  std::vector<Item> items;
  std::vector<graph::Resources> fixed;                     // of each host: what stays there
  std::vector<bool> kept;                                  // of each host: it is in use whatever is placed
  std::vector<Traffic> between;                            // of two items
  std::vector<Traffic> to_host;                            // of item a and what stays on host b
  double crossing = 0;                                     // bytes that cross hosts in every placement
  double total = 0;                                        // all bytes that could cross, with those
  double fill = 1;                                         // how much of a host's room counts as full
  size_t most_hosts = std::numeric_limits<size_t>::max();  // that something may be placed on
};

struct Score {
  double cpu = 0, memory = 0, network = 0;  // the factors; NaN where the room of a host in use is not known
  double fitness = 0;
  size_t hosts = 0;  // in use
  double crossing = 0;
  std::vector<graph::Resources> used;  // of each host
  std::vector<bool> in_use, placed_on;
};

Score score_of(const Problem &problem, const Placement &placement);
// The fitness alone, for a search that has one score to calculate in.
double fitness_of(const Problem &problem, const Placement &placement, Score &score);
// What that costs: sums of single items and pairs.
size_t steps_of(const Problem &problem);
// Where the items are, and a beginning for a search: those of hosts that are not among the problem's, or of the emptiest where more
// are in use than may be, go where they fit best, one by one. Throws TooMuch when its time is over.
Placement current(const Problem &problem, query::Budget &budget);

// What there is now, on all hosts that items are on: also on those that nothing may be placed on.
struct Present {
  Problem problem;
  Placement placement;
};

}  // namespace atalaya::place
