// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/place/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <pagmo/algorithm.hpp>
#include <pagmo/algorithms/sga.hpp>
#include <pagmo/population.hpp>
#include <pagmo/problem.hpp>
#include <pagmo/types.hpp>
#include <utility>

namespace atalaya::place {
namespace {

using pagmo::vector_double;

constexpr size_t kMaxSteps = 200'000'000;  // of a walk
constexpr double kEqual = 1e-12;           // tolerance of the arithmetic

bool is_better(double fitness, double than) {
  return fitness > than + kEqual * std::abs(than);
}

Placement placement_of(const vector_double &genome) {
  Placement placement;
  placement.reserve(genome.size());
  for (const double gene : genome) placement.push_back(static_cast<size_t>(std::lround(gene)));
  return placement;
}

// The problem in pagmo's form: integers between bounds, minimised.
struct Genome {
  const Problem *problem = nullptr;
  query::Budget *budget = nullptr;

  vector_double fitness(const vector_double &genome) const {
    budget->work(steps_of(*problem));
    Score score;
    return {-fitness_of(*problem, placement_of(genome), score)};
  }
  std::pair<vector_double, vector_double> get_bounds() const {
    const size_t size = problem->items.size();
    return {vector_double(size, 0), vector_double(size, static_cast<double>(problem->hosts.size() - 1))};
  }
  vector_double::size_type get_nix() const { return problem->items.size(); }
};

// A walk to the nearest optimum in small steps, which mutation finds late.
class Polish {
 public:
  Polish(const Problem &problem, Placement &best, query::Budget &budget)
      : problem_(problem),
        best_(best),
        budget_(budget),
        fitness_(fitness_of(problem, best, score_)),
        trials_(kMaxSteps / steps_of(problem)) {}

  void walk() {
    for (bool any = true; any;) {
      any = false;
      for (size_t item = 0; item < best_.size(); ++item) any = move(item) || exchange(item) || any;
      for (size_t host = 0; host < problem_.hosts.size(); ++host) any = clear(host) || any;
    }
  }

 private:
  double tried() {
    --trials_;
    budget_.work(steps_of(problem_));
    return fitness_of(problem_, best_, score_);
  }

  bool better() {
    if (trials_ == 0) return false;
    const double fitness = tried();
    if (!is_better(fitness, fitness_)) return false;
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

  // Moves all items of a host to where each fits best: single moves away from a host in use are worse at first.
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
    double most = -std::numeric_limits<double>::infinity();
    for (best_[item] = 0; best_[item] < problem_.hosts.size(); ++best_[item]) {
      if (best_[item] == host || trials_ == 0) continue;
      const double fitness = tried();
      if (fitness <= most) continue;
      most = fitness;
      where = best_[item];
    }
    return where;
  }

  const Problem &problem_;
  Placement &best_;
  query::Budget &budget_;
  Score score_;
  double fitness_;
  size_t trials_;  // remaining; makes large problems end in time, with the same answer on every machine
};

// Among equally good placements, the one with the fewest moves: equal hosts may exchange all their items.
void stay(const Problem &problem, const Placement &start, Placement &best, query::Budget &budget) {
  Score score;
  const double fitness = fitness_of(problem, best, score);
  if (!is_better(fitness, fitness_of(problem, start, score))) {
    best = start;
    return;
  }
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
  for (bool any = true; any;) {
    any = false;
    // Only an exchange that returns an item to its host saves moves.
    for (size_t item = 0; item < best.size(); ++item) {
      if (best[item] == start[item]) continue;
      budget.work(steps_of(problem));
      const Placement other = exchanged(best[item], start[item]);
      if (moves(other) >= moves(best) || is_better(fitness, fitness_of(problem, other, score))) continue;
      best = other;
      any = true;
    }
  }
}

}  // namespace

Placement search(const Problem &problem, const Placement &start, const SearchOptions &options, query::Budget &budget) {
  if (problem.items.empty() || problem.hosts.size() < 2) return start;
  const double mutation = std::max(0.02, 1.0 / static_cast<double>(problem.items.size()));
  Score score;
  Placement best = start;
  for (unsigned round = 0; round < options.rounds; ++round) {
    const unsigned seed = options.seed + round;
    pagmo::population population(pagmo::problem(Genome{&problem, &budget}), options.population - 1, seed);
    population.push_back(vector_double(start.begin(), start.end()));
    const pagmo::algorithm algorithm(
        pagmo::sga(options.generations, 0.9, 1, mutation, 1, 2, "single", "uniform", "tournament", seed));
    Placement found = placement_of(algorithm.evolve(population).champion_x());
    Polish(problem, found, budget).walk();
    const double fitness = fitness_of(problem, found, score);
    if (is_better(fitness, fitness_of(problem, best, score))) best = found;
  }
  stay(problem, start, best, budget);
  return best;
}

}  // namespace atalaya::place
