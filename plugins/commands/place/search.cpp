// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/place/search.h"

#include <algorithm>
#include <cmath>
#include <pagmo/algorithm.hpp>
#include <pagmo/algorithms/sga.hpp>
#include <pagmo/population.hpp>
#include <pagmo/problem.hpp>
#include <pagmo/types.hpp>
#include <utility>

namespace atalaya::place {
namespace {

using pagmo::vector_double;

constexpr size_t kMostSteps = 200'000'000;  // of a walk: sums of single items and pairs
constexpr double kEqual = 1e-12;            // what arithmetic makes of the same fitness

Placement placement_of(const vector_double &genome) {
  Placement placement;
  placement.reserve(genome.size());
  for (const double gene : genome) placement.push_back(static_cast<size_t>(std::lround(gene)));
  return placement;
}

// The problem as pagmo asks for it: whole numbers between bounds, the smallest value wins.
struct Genome {
  const Problem *problem = nullptr;

  vector_double fitness(const vector_double &genome) const {
    std::vector<graph::Resources> used;
    return {-fitness_of(*problem, placement_of(genome), used)};
  }
  std::pair<vector_double, vector_double> get_bounds() const {
    const size_t size = problem->items.size();
    return {vector_double(size, 0), vector_double(size, static_cast<double>(problem->hosts.size() - 1))};
  }
  vector_double::size_type get_nix() const { return problem->items.size(); }
};

// A walk to the nearest optimum, as far as the smaller steps lead: what mutation finds last.
class Polish {
 public:
  Polish(const Problem &problem, Placement &best)
      : problem_(problem),
        best_(best),
        fitness_(fitness_of(problem, best, used_)),
        trials_(kMostSteps / (best.size() + problem.between.size() + problem.to_host.size())) {}

  void walk() {
    for (bool any = true; any;) {
      any = false;
      for (size_t item = 0; item < best_.size(); ++item) any = move(item) || exchange(item) || any;
      for (size_t host = 0; host < problem_.hosts.size(); ++host) any = clear(host) || any;
    }
  }

 private:
  bool better() {
    if (trials_ == 0) return false;
    --trials_;
    const double fitness = fitness_of(problem_, best_, used_);
    if (fitness <= fitness_ + kEqual) return false;
    fitness_ = fitness;
    return true;
  }

  bool move(size_t item) {
    const size_t before = best_[item];
    for (best_[item] = 0; best_[item] < problem_.hosts.size(); ++best_[item])
      if (best_[item] != before && better()) return true;
    best_[item] = before;
    return false;
  }

  bool exchange(size_t item) {
    for (size_t other = item + 1; other < best_.size(); ++other) {
      if (best_[item] == best_[other]) continue;
      std::swap(best_[item], best_[other]);
      if (better()) return true;
      std::swap(best_[item], best_[other]);
    }
    return false;
  }

  // All of a host to where each fits best: single moves away from a host in use make things worse before they make them better.
  bool clear(size_t host) {
    const Placement before = best_;
    for (size_t item = 0; item < best_.size(); ++item)
      if (before[item] == host) best_[item] = best_but(host, item);
    if (better()) return true;
    best_ = before;
    return false;
  }
  size_t best_but(size_t host, size_t item) {
    size_t where = host;
    double most = -1;
    for (best_[item] = 0; best_[item] < problem_.hosts.size(); ++best_[item]) {
      if (best_[item] == host || trials_ == 0) continue;
      --trials_;
      const double fitness = fitness_of(problem_, best_, used_);
      if (fitness <= most) continue;
      most = fitness;
      where = best_[item];
    }
    return where;
  }

  const Problem &problem_;
  Placement &best_;
  std::vector<graph::Resources> used_;
  double fitness_;
  size_t trials_;  // that are left: large problems end in time, and with the same answer on every machine
};

// Of placements that are equally good the one with the fewest moves: equal hosts may exchange all they have.
void stay(const Problem &problem, const Placement &start, Placement &best) {
  std::vector<graph::Resources> used;
  const double fitness = fitness_of(problem, best, used);
  const auto moves = [&](const Placement &placement) {
    size_t count = 0;
    for (size_t item = 0; item < placement.size(); ++item) count += placement[item] != start[item] ? 1 : 0;
    return count;
  };
  const auto exchanged = [&](size_t a, size_t b) {
    Placement other = best;
    for (size_t &host : other) host = host == a ? b : host == b ? a : host;
    return other;
  };
  if (fitness <= fitness_of(problem, start, used) + kEqual) {
    best = start;
    return;
  }
  for (bool any = true; any;) {
    any = false;
    for (size_t a = 0; a < problem.hosts.size(); ++a) {
      for (size_t b = a + 1; b < problem.hosts.size(); ++b) {
        const Placement other = exchanged(a, b);
        if (moves(other) >= moves(best) || fitness_of(problem, other, used) < fitness - kEqual) continue;
        best = other;
        any = true;
      }
    }
  }
}

}  // namespace

Placement search(const Problem &problem, const Placement &start, const SearchOptions &options) {
  if (problem.items.empty() || problem.hosts.size() < 2) return start;
  const double mutation = std::max(0.02, 1.0 / static_cast<double>(problem.items.size()));
  std::vector<graph::Resources> used;
  Placement best = start;
  for (unsigned round = 0; round < options.rounds; ++round) {
    const unsigned seed = options.seed + round;
    pagmo::population population(pagmo::problem(Genome{&problem}), options.population - 1, seed);
    population.push_back(vector_double(start.begin(), start.end()));
    const pagmo::algorithm algorithm(
        pagmo::sga(options.generations, 0.9, 1, mutation, 1, 2, "single", "uniform", "tournament", seed));
    Placement found = placement_of(algorithm.evolve(population).champion_x());
    Polish(problem, found).walk();
    if (fitness_of(problem, found, used) > fitness_of(problem, best, used) + kEqual) best = found;
  }
  stay(problem, start, best);
  return best;
}

}  // namespace atalaya::place
