// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/place/problem.h"

#include <algorithm>

namespace atalaya::place {
namespace {

// Of too much: more than the two penalties that another host can cost.
constexpr double kOverflow = 3, kOverflowSlope = 10;

double penalty(double used, double room) {
  const double part = room > 0 ? used / room : used > 0 ? 2 : 0;
  return part <= 1 + 1e-9 ? 1 - part : kOverflow + kOverflowSlope * (part - 1);
}

// Without a sample of processes nothing says how much room is taken.
double factor(const Problem &problem, const std::vector<graph::Resources> &used, const std::vector<bool> &in_use,
              double graph::Resources::*what, double Room::*room) {
  double sum = 0;
  for (size_t host = 0; host < used.size(); ++host)
    if (in_use[host]) sum += penalty(used[host].*what, problem.hosts[host].*room * problem.fill);
  return 1 / (1 + sum);
}

double crossing_of(const Problem &problem, const Placement &placement) {
  double bytes = problem.crossing;
  for (const Traffic &one : problem.between)
    if (placement[one.a] != placement[one.b]) bytes += one.bytes;
  for (const Traffic &one : problem.to_host)
    if (placement[one.a] != one.b) bytes += one.bytes;
  return bytes;
}

}  // namespace

double fitness_of(const Problem &problem, const Placement &placement, std::vector<graph::Resources> &used) {
  used = problem.fixed;
  std::vector<bool> in_use(problem.hosts.size(), false);
  for (size_t item = 0; item < placement.size(); ++item) {
    used[placement[item]].cpu += problem.items[item].used.cpu;
    used[placement[item]].memory += problem.items[item].used.memory;
    in_use[placement[item]] = true;
  }
  const double network = problem.total > 0 ? 1 / (1 + crossing_of(problem, placement) / problem.total) : 1;
  return factor(problem, used, in_use, &graph::Resources::cpu, &Room::cpu) *
         factor(problem, used, in_use, &graph::Resources::memory, &Room::memory) * network;
}

Score score_of(const Problem &problem, const Placement &placement) {
  Score score;
  score.fitness = fitness_of(problem, placement, score.used);
  std::vector<bool> in_use(problem.hosts.size(), false);
  for (const size_t host : placement) in_use[host] = true;
  score.hosts = static_cast<size_t>(std::count(in_use.begin(), in_use.end(), true));
  score.cpu = factor(problem, score.used, in_use, &graph::Resources::cpu, &Room::cpu);
  score.memory = factor(problem, score.used, in_use, &graph::Resources::memory, &Room::memory);
  score.crossing = crossing_of(problem, placement);
  score.network = problem.total > 0 ? 1 / (1 + score.crossing / problem.total) : 1;
  return score;
}

Placement current(const Problem &problem) {
  Placement placement(problem.items.size(), 0);
  std::vector<size_t> homeless;
  for (size_t item = 0; item < problem.items.size(); ++item) {
    const auto home = std::find_if(problem.hosts.begin(), problem.hosts.end(),
                                   [&](const Room &room) { return room.host == problem.items[item].host; });
    if (home == problem.hosts.end())
      homeless.push_back(item);
    else
      placement[item] = static_cast<size_t>(home - problem.hosts.begin());
  }
  std::vector<graph::Resources> used;
  for (const size_t item : homeless) {
    double best = -1;
    size_t where = 0;
    for (size_t host = 0; host < problem.hosts.size(); ++host) {
      placement[item] = host;
      const double fitness = fitness_of(problem, placement, used);
      if (fitness > best) {
        best = fitness;
        where = host;
      }
    }
    placement[item] = where;
  }
  return placement;
}

}  // namespace atalaya::place
