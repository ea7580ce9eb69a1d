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

#include "plugins/commands/place/packing.h"
#include "plugins/commands/place/tracked.h"

namespace atalaya::place {
namespace {

using pagmo::vector_double;

constexpr size_t kMaxSteps = 50'000'000;           // maximum steps of a local search, and of all runs of the genetic algorithm
constexpr double kMaxEnumerated = 1 << 21;         // placements
constexpr double kEqual = 1e-12, kRounded = 1e-9;  // tolerances of one evaluation, and of sums over many moves

bool is_better(double fitness, double than, double tolerance) {
  return fitness > than + tolerance * std::abs(than);
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

// Local search (hill climbing) to the nearest optimum: the genetic algorithm alone finds small improvements late.
class Polish {
 public:
  Polish(const Problem &problem, const Groups &groups, const Placement &start, query::Budget &budget)
      : problem_(problem), groups_(groups), budget_(budget), now_(problem, start), fitness_(now_.fitness()) {}

  Placement walk() {
    for (bool any = true; any;) {
      any = false;
      for (size_t item = 0; item < problem_.items.size(); ++item) any = move(item) || exchange(item) || any;
      for (const std::vector<size_t> &group : groups_) any = move_together(group) || any;
      for (size_t host = 0; host < problem_.hosts.size(); ++host) any = clear(host) || any;
      now_ = IncrementalFitness(problem_, now_.placement());  // removes the rounding errors of incremental sums
      fitness_ = now_.fitness();
    }
    return now_.placement();
  }

 private:
  // False when all steps are used. The limit counts steps, not time, so that the result is the same on every machine.
  bool spend(size_t item) {
    const size_t cost = now_.cost(item);
    if (steps_ < cost) return false;
    steps_ -= cost;
    budget_.work(cost);
    return true;
  }
  bool better() {
    const double fitness = now_.fitness();
    if (!is_better(fitness, fitness_, kRounded)) return false;
    fitness_ = fitness;
    return true;
  }

  bool move(size_t item) {
    const size_t before = now_.placement()[item];
    for (size_t host = 0; host < problem_.hosts.size(); ++host) {
      if (host == before || !spend(item)) continue;
      now_.move(item, host);
      if (better()) return true;
    }
    now_.move(item, before);
    return false;
  }

  bool exchange(size_t item) {
    for (size_t other = item + 1; other < problem_.items.size(); ++other) {
      if (now_.placement()[item] == now_.placement()[other] || !spend(item) || !spend(other)) continue;
      now_.swap(item, other);
      if (better()) return true;
      now_.swap(item, other);
    }
    return false;
  }

  bool move_together(const std::vector<size_t> &group) {
    if (group.size() < 2) return false;
    const Placement before = now_.placement();
    for (size_t host = 0; host < problem_.hosts.size(); ++host) {
      for (const size_t item : group)
        if (spend(item)) now_.move(item, host);
      if (better()) return true;
    }
    for (const size_t item : group) now_.move(item, before[item]);
    return false;
  }

  // Moves all items of a host to where each fits best. Single moves do not empty a host, because the first of them decrease the
  // fitness.
  bool clear(size_t host) {
    const Placement before = now_.placement();
    for (size_t item = 0; item < before.size(); ++item)
      if (before[item] == host) now_.move(item, best_but(host, item));
    if (better()) return true;
    for (size_t item = 0; item < before.size(); ++item)
      if (before[item] == host) now_.move(item, host);
    return false;
  }
  size_t best_but(size_t host, size_t item) {
    size_t where = host;
    double most = -std::numeric_limits<double>::infinity();
    for (size_t other = 0; other < problem_.hosts.size(); ++other) {
      if (other == host || !spend(item)) continue;
      now_.move(item, other);
      if (now_.fitness() <= most) continue;
      most = now_.fitness();
      where = other;
    }
    return where;
  }

  const Problem &problem_;
  const Groups &groups_;
  query::Budget &budget_;
  IncrementalFitness now_;
  double fitness_;
  size_t steps_ = kMaxSteps;  // remaining
};

// Evaluates all placements and returns the best one.
Placement enumerate(const Problem &problem, query::Budget &budget) {
  constexpr size_t kBetweenRounding = 4096;  // moves between two exact computations of the sums
  IncrementalFitness now(problem, Placement(problem.items.size(), 0));
  Placement best = now.placement();
  double fitness = now.fitness();
  for (size_t moves = 1;; ++moves) {
    size_t item = 0;
    for (; item < problem.items.size(); ++item) {
      budget.work(now.cost(item));
      const size_t next = now.placement()[item] + 1;
      now.move(item, next == problem.hosts.size() ? 0 : next);
      if (next < problem.hosts.size()) break;
    }
    if (item == problem.items.size()) return best;
    if (moves % kBetweenRounding == 0) now = IncrementalFitness(problem, now.placement());
    if (!is_better(now.fitness(), fitness, kRounded)) continue;
    fitness = now.fitness();
    best = now.placement();
  }
}

// Among placements with equal fitness, finds the one with the fewest moves: equal hosts may exchange all their items.
void stay(const Problem &problem, const Placement &start, Placement &best, query::Budget &budget) {
  Score score;
  const double fitness = fitness_of(problem, best, score);
  if (!is_better(fitness, fitness_of(problem, start, score), kEqual)) {
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
    // Only an exchange that returns an item to its current host saves moves.
    for (size_t item = 0; item < best.size(); ++item) {
      if (best[item] == start[item]) continue;
      budget.work(steps_of(problem));
      const Placement other = exchanged(best[item], start[item]);
      if (moves(other) >= moves(best) || is_better(fitness, fitness_of(problem, other, score), kEqual)) continue;
      best = other;
      any = true;
    }
  }
}

// Runs the genetic algorithm on a population of this placement and random ones.
Placement evolved(const Problem &problem, const Placement &start, const SearchOptions &options, unsigned seed,
                  query::Budget &budget) {
  const double mutation = std::max(0.02, 1.0 / static_cast<double>(problem.items.size()));
  pagmo::population population(pagmo::problem(Genome{&problem, &budget}), options.population - 1, seed);
  population.push_back(vector_double(start.begin(), start.end()));
  const pagmo::algorithm algorithm(
      pagmo::sga(options.generations, 0.9, 1, mutation, 1, 2, "single", "uniform", "tournament", seed));
  return placement_of(algorithm.evolve(population).champion_x());
}

// Number of runs within the limit of steps, at least one.
unsigned rounds_of(const Problem &problem, const SearchOptions &options) {
  const double steps = static_cast<double>(steps_of(problem)) * options.population * options.generations;
  return static_cast<unsigned>(std::clamp(static_cast<double>(kMaxSteps) / steps, 1.0, static_cast<double>(options.rounds)));
}

}  // namespace

bool is_enumerable(const Problem &problem) {
  const double size = std::pow(static_cast<double>(problem.hosts.size()), static_cast<double>(problem.items.size()));
  return size <= kMaxEnumerated;
}

Placement search(const Problem &problem, const Placement &start, const SearchOptions &options, query::Budget &budget) {
  if (problem.items.empty() || problem.hosts.size() < 2) return start;
  Score score;
  Placement best = start;
  const auto keep_best = [&](Placement found) {
    const double fitness = fitness_of(problem, found, score);
    if (is_better(fitness, fitness_of(problem, best, score), kEqual)) best = std::move(found);
  };
  if (is_enumerable(problem)) {
    keep_best(enumerate(problem, budget));
  } else {
    const Groups groups = clusters_of(problem);
    for (const Placement &packed : greedy_placements(problem)) keep_best(packed);
    keep_best(Polish(problem, groups, start, budget).walk());
    keep_best(Polish(problem, groups, best, budget).walk());
    const unsigned rounds = rounds_of(problem, options);
    for (unsigned round = 0; round < rounds; ++round)
      keep_best(Polish(problem, groups, evolved(problem, best, options, options.seed + round, budget), budget).walk());
  }
  stay(problem, start, best, budget);
  return best;
}

}  // namespace atalaya::place
