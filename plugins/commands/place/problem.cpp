// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/place/problem.h"

#include <algorithm>
#include <limits>

namespace atalaya::place {
namespace {

// What fits has at least 1 / (1 + hosts) of CPU and of memory each, and 1 / 2 of the network: too much on a host has less than all
// of that.
double overflow_of(const Problem &problem) {
  const double hosts = 1 + static_cast<double>(std::min(problem.hosts.size(), problem.items.size()));
  return 2 * hosts * hosts;
}

double penalty(double used, double room, double overflow) {
  const double part = room > 0 ? used / room : used > 0 ? 2 : 0;
  return part <= 1 + 1e-9 ? 1 - part : overflow * part;
}

double factor(const Problem &problem, const Score &score, double graph::Resources::*what, double Room::*room) {
  const double overflow = overflow_of(problem);
  double sum = 0;
  for (size_t host = 0; host < score.used.size(); ++host) {
    if (!score.in_use[host]) continue;
    if (!problem.hosts[host].known) return std::numeric_limits<double>::quiet_NaN();
    sum += penalty(score.used[host].*what, problem.hosts[host].*room * problem.fill, overflow);
  }
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

double fitness_of(const Problem &problem, const Placement &placement, Score &score) {
  score.used = problem.fixed;
  score.in_use.assign(problem.hosts.size(), false);
  for (size_t item = 0; item < placement.size(); ++item) {
    score.used[placement[item]].cpu += problem.items[item].used.cpu;
    score.used[placement[item]].memory += problem.items[item].used.memory;
    score.in_use[placement[item]] = true;
  }
  score.cpu = factor(problem, score, &graph::Resources::cpu, &Room::cpu);
  score.memory = factor(problem, score, &graph::Resources::memory, &Room::memory);
  score.crossing = crossing_of(problem, placement);
  score.network = problem.total > 0 ? 1 / (1 + score.crossing / problem.total) : 1;
  return score.fitness = score.cpu * score.memory * score.network;
}

Score score_of(const Problem &problem, const Placement &placement) {
  Score score;
  fitness_of(problem, placement, score);
  score.hosts = static_cast<size_t>(std::count(score.in_use.begin(), score.in_use.end(), true));
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
  Score score;
  for (const size_t item : homeless) {
    double best = -1;
    size_t where = 0;
    for (size_t host = 0; host < problem.hosts.size(); ++host) {
      placement[item] = host;
      const double fitness = fitness_of(problem, placement, score);
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
