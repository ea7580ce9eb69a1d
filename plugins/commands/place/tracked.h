// SPDX-License-Identifier: Apache-2.0
// A placement with incremental evaluation: a move updates the fitness in time proportional to the number of traffic pairs of the
// item.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "plugins/commands/place/problem.h"

namespace atalaya::place {

class IncrementalFitness {
 public:
  // All hosts must have a known capacity. The problem must outlive this object.
  IncrementalFitness(const Problem &problem, Placement placement);

  void move(size_t item, size_t host);
  void swap(size_t a, size_t b);
  // Equal to fitness_of, except for rounding errors.
  double fitness() const;
  const Placement &placement() const { return placement_; }
  // Number of steps of a move of this item.
  size_t cost(size_t item) const { return 4 + pairs_[item].size() + host_pairs_[item].size(); }

 private:
  struct Terms {
    Penalty cpu, memory;
  };
  Terms terms_of(size_t host) const;
  void add(const Terms &terms, double sign);
  double traffic_of(size_t item, size_t host) const;

  const Problem *problem_;
  double overflow_, always_cpu_, always_memory_;
  Placement placement_;
  std::vector<std::vector<std::pair<size_t, double>>> pairs_;       // by item: other item, bytes
  std::vector<std::vector<std::pair<size_t, double>>> host_pairs_;  // by item: host, bytes
  std::vector<graph::Resources> used_;
  std::vector<size_t> items_on_;
  size_t placed_on_ = 0;
  Terms sums_;
  double crossing_ = 0;
};

}  // namespace atalaya::place
