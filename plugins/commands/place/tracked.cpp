// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/place/tracked.h"

#include <algorithm>

namespace atalaya::place {

IncrementalFitness::IncrementalFitness(const Problem &problem, Placement placement)
    : problem_(&problem),
      overflow_(overflow_of(problem)),
      always_cpu_(fixed_penalty_of(problem, overflow_, kCpu)),
      always_memory_(fixed_penalty_of(problem, overflow_, kMemory)),
      placement_(std::move(placement)),
      pairs_(problem.items.size()),
      host_pairs_(problem.items.size()),
      used_(problem.fixed),
      items_on_(problem.hosts.size(), 0),
      crossing_(problem.crossing) {
  for (const Traffic &one : problem.between) {
    pairs_[one.a].emplace_back(one.b, one.bytes);
    pairs_[one.b].emplace_back(one.a, one.bytes);
    if (placement_[one.a] != placement_[one.b]) crossing_ += one.bytes;
  }
  for (const Traffic &one : problem.to_host) {
    host_pairs_[one.a].emplace_back(one.b, one.bytes);
    if (placement_[one.a] != one.b) crossing_ += one.bytes;
  }
  for (size_t item = 0; item < placement_.size(); ++item) {
    used_[placement_[item]].cpu += problem.items[item].used.cpu;
    used_[placement_[item]].memory += problem.items[item].used.memory;
    if (items_on_[placement_[item]]++ == 0) ++placed_on_;
  }
  for (size_t host = 0; host < problem.hosts.size(); ++host) add(terms_of(host), 1);
}

IncrementalFitness::Terms IncrementalFitness::terms_of(size_t host) const {
  const bool in_use = items_on_[host] > 0 || (host < problem_->kept.size() && problem_->kept[host]);
  return {penalty_of(*problem_, overflow_, host, used_[host], in_use, kCpu),
          penalty_of(*problem_, overflow_, host, used_[host], in_use, kMemory)};
}

void IncrementalFitness::add(const Terms &terms, double sign) {
  sums_.cpu.sum += sign * terms.cpu.sum;
  sums_.cpu.overload += sign * terms.cpu.overload;
  sums_.memory.sum += sign * terms.memory.sum;
  sums_.memory.overload += sign * terms.memory.overload;
}

// Bytes of the item's traffic that do not leave `host` if the item is placed there.
double IncrementalFitness::traffic_of(size_t item, size_t host) const {
  double bytes = 0;
  for (const auto &[other, of_pair] : pairs_[item])
    if (placement_[other] == host) bytes += of_pair;
  for (const auto &[other, of_pair] : host_pairs_[item])
    if (other == host) bytes += of_pair;
  return bytes;
}

void IncrementalFitness::move(size_t item, size_t host) {
  const size_t from = placement_[item];
  if (from == host) return;
  crossing_ += traffic_of(item, from) - traffic_of(item, host);
  const graph::Resources &needs = problem_->items[item].used;
  add(terms_of(from), -1);
  add(terms_of(host), -1);
  // An empty host gets exactly its fixed usage, without rounding errors.
  if (--items_on_[from] == 0) {
    used_[from] = problem_->fixed[from];
    --placed_on_;
  } else {
    used_[from].cpu -= needs.cpu;
    used_[from].memory -= needs.memory;
  }
  if (items_on_[host]++ == 0) ++placed_on_;
  used_[host].cpu += needs.cpu;
  used_[host].memory += needs.memory;
  placement_[item] = host;
  add(terms_of(from), 1);
  add(terms_of(host), 1);
}

void IncrementalFitness::swap(size_t a, size_t b) {
  const size_t host = placement_[a];
  move(a, placement_[b]);
  move(b, host);
}

double IncrementalFitness::fitness() const {
  const double cpu = 1 / (1 + std::max(0.0, sums_.cpu.sum)) / (1 + always_cpu_);
  const double memory = 1 / (1 + std::max(0.0, sums_.memory.sum)) / (1 + always_memory_);
  const double network = problem_->total > 0 ? 1 / (1 + std::max(0.0, crossing_) / problem_->total) : 1;
  // A smaller overload is a rounding error.
  constexpr double kRounding = 1e-12;
  const double overload = sums_.cpu.overload + sums_.memory.overload;
  return fitness_from(*problem_, cpu * memory * network, overload > kRounding ? overload : 0, placed_on_);
}

}  // namespace atalaya::place
