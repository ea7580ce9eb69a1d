// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/place/problem.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>

namespace atalaya::place {
namespace {

double factor(const Problem &problem, Score &score, const ResourceOf &resource) {
  const double overflow = overflow_of(problem);
  double sum = 0;
  for (size_t host = 0; host < score.used.size(); ++host) {
    const Penalty penalty = penalty_of(problem, overflow, host, score.used[host], score.in_use[host], resource);
    sum += penalty.sum;
    score.overload += penalty.overload;
  }
  return 1 / (1 + sum) / (1 + fixed_penalty_of(problem, overflow, resource));
}

double crossing_of(const Problem &problem, const Placement &placement) {
  double bytes = problem.crossing;
  for (const Traffic &one : problem.between)
    if (placement[one.a] != placement[one.b]) bytes += one.bytes;
  for (const Traffic &one : problem.to_host)
    if (placement[one.a] != one.b) bytes += one.bytes;
  return bytes;
}

// The hosts with items that exceed the maximum number of hosts: those with the fewest items.
std::vector<size_t> too_many(const Problem &problem, const std::vector<std::vector<size_t>> &on) {
  std::vector<size_t> used;
  for (size_t host = 0; host < on.size(); ++host)
    if (!on[host].empty()) used.push_back(host);
  std::stable_sort(used.begin(), used.end(), [&](size_t a, size_t b) { return on[a].size() < on[b].size(); });
  used.resize(used.size() - std::min(used.size(), problem.max_hosts));
  return used;
}

// Places each of these items where it fits best, given the items placed so far.
void settle(const Problem &problem, const std::vector<size_t> &items, Placement &placement, query::Budget &budget) {
  Score score;
  for (const size_t item : items) {
    double best = -std::numeric_limits<double>::infinity();
    size_t where = 0;
    for (size_t host = 0; host < problem.hosts.size(); ++host) {
      budget.work(steps_of(problem));
      placement[item] = host;
      const double fitness = fitness_of(problem, placement, score);
      if (fitness <= best) continue;
      best = fitness;
      where = host;
    }
    placement[item] = where;
  }
}

}  // namespace

// A placement without overload has a factor of at least 1 / (1 + hosts) for CPU and for memory, and of 1 / 2 for the network.
double overflow_of(const Problem &problem) {
  const auto kept = static_cast<size_t>(std::count(problem.kept.begin(), problem.kept.end(), true));
  const double hosts = 1 + static_cast<double>(std::min(problem.hosts.size(), problem.items.size() + kept));
  return 2 * hosts * hosts;
}

double part_of(double used, double capacity) {
  return capacity > 0 ? used / capacity : used > 0 ? 2 : 0;
}

bool is_too_much(double part) {
  return part > 1 + 1e-9;
}

Penalty penalty_of(const Problem &problem, double overflow, size_t host, const graph::Resources &used, bool in_use,
                   const ResourceOf &resource) {
  const HostCapacity &capacity = problem.hosts[host];
  if (!capacity.known) return {in_use ? std::numeric_limits<double>::quiet_NaN() : 0, 0};
  const double full = capacity.*resource.capacity * problem.fill;
  const double part = part_of(used.*resource.used, full), fixed = part_of(problem.fixed[host].*resource.used, full);
  if (is_too_much(fixed)) return {overflow * std::max(0.0, part - fixed), 0};
  if (is_too_much(part)) return {overflow * part, (part - 1) * (part - 1)};
  return {in_use ? 1 - part : 0, 0};
}

double fixed_penalty_of(const Problem &problem, double overflow, const ResourceOf &resource) {
  double always = 0;
  for (size_t host = 0; host < problem.hosts.size(); ++host) {
    const HostCapacity &capacity = problem.hosts[host];
    const double fixed = part_of(problem.fixed[host].*resource.used, capacity.*resource.capacity * problem.fill);
    if (capacity.known && is_too_much(fixed)) always += overflow * fixed;
  }
  return always;
}

double fitness_from(const Problem &problem, double product, double overload, size_t placed_on) {
  if (placed_on > problem.max_hosts) return -static_cast<double>(placed_on - problem.max_hosts);
  return overload > 0 ? -overload / (1 + overload) : product;
}

size_t steps_of(const Problem &problem) {
  return problem.items.size() + problem.between.size() + problem.to_host.size() + problem.hosts.size();
}

double fitness_of(const Problem &problem, const Placement &placement, Score &score) {
  score.used = problem.fixed;
  score.placed_on.assign(problem.hosts.size(), false);
  for (size_t item = 0; item < placement.size(); ++item) {
    score.used[placement[item]].cpu += problem.items[item].used.cpu;
    score.used[placement[item]].memory += problem.items[item].used.memory;
    score.placed_on[placement[item]] = true;
  }
  score.in_use = score.placed_on;
  for (size_t host = 0; host < problem.kept.size(); ++host)
    if (problem.kept[host]) score.in_use[host] = true;
  score.overload = 0;
  score.cpu = factor(problem, score, kCpu);
  score.memory = factor(problem, score, kMemory);
  score.crossing = crossing_of(problem, placement);
  score.network = problem.total > 0 ? 1 / (1 + score.crossing / problem.total) : 1;
  score.hosts = static_cast<size_t>(std::count(score.in_use.begin(), score.in_use.end(), true));
  const auto placed_on = static_cast<size_t>(std::count(score.placed_on.begin(), score.placed_on.end(), true));
  score.fitness = fitness_from(problem, score.cpu * score.memory * score.network, score.overload, placed_on);
  return score.fitness;
}

Score score_of(const Problem &problem, const Placement &placement) {
  Score score;
  fitness_of(problem, placement, score);
  return score;
}

Placement current(const Problem &problem, query::Budget &budget) {
  std::map<std::string_view, size_t> numbers;
  for (size_t host = 0; host < problem.hosts.size(); ++host) numbers[problem.hosts[host].host] = host;
  Placement placement(problem.items.size(), 0);
  std::vector<std::vector<size_t>> on(problem.hosts.size());
  std::vector<size_t> homeless;
  for (size_t item = 0; item < problem.items.size(); ++item) {
    const auto home = numbers.find(problem.items[item].host);
    if (home != numbers.end()) placement[item] = home->second;
    (home == numbers.end() ? homeless : on[home->second]).push_back(item);
  }
  for (const size_t host : too_many(problem, on)) homeless.insert(homeless.end(), on[host].begin(), on[host].end());
  // An item that is not placed yet is on the host with most items, so that no surplus host is in use.
  const auto fullest = std::max_element(on.begin(), on.end(), [](const auto &a, const auto &b) { return a.size() < b.size(); });
  for (const size_t item : homeless) placement[item] = static_cast<size_t>(fullest - on.begin());
  settle(problem, homeless, placement, budget);
  return placement;
}

}  // namespace atalaya::place
