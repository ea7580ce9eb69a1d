// SPDX-License-Identifier: Apache-2.0
// The search against all placements, and against first fit by group. The oracle computes fitness by the documented rules, with no
// code of the product.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "plugins/commands/place/bound.h"
#include "plugins/commands/place/packing.h"
#include "plugins/commands/place/search.h"

namespace atalaya::place {
namespace {

struct Judged {
  double overload = 0, product = 0, crossing = 0;
  bool operator<(const Judged &other) const {
    if (overload > 0 || other.overload > 0) return overload > other.overload;
    return product < other.product;
  }
};

// Of hosts without load that stays.
Judged judged(const Problem &problem, const Placement &placement) {
  Judged result;
  double free_cpu = 0, free_memory = 0;
  for (size_t host = 0; host < problem.hosts.size(); ++host) {
    double cpu = 0, memory = 0;
    bool used = false;
    for (size_t item = 0; item < placement.size(); ++item) {
      if (placement[item] != host) continue;
      cpu += problem.items[item].used.cpu;
      memory += problem.items[item].used.memory;
      used = true;
    }
    if (!used) continue;
    cpu /= problem.hosts[host].cpu * problem.fill;
    memory /= problem.hosts[host].memory * problem.fill;
    for (const double part : {cpu, memory})
      if (part > 1 + 1e-9) result.overload += (part - 1) * (part - 1);
    free_cpu += std::max(0.0, 1 - cpu);
    free_memory += std::max(0.0, 1 - memory);
  }
  for (const Traffic &pair : problem.between)
    if (placement[pair.a] != placement[pair.b]) result.crossing += pair.bytes;
  result.product = 1 / (1 + free_cpu) / (1 + free_memory) / (1 + (problem.total > 0 ? result.crossing / problem.total : 0));
  return result;
}

Problem hosts_of(size_t count, double cores, double memory) {
  Problem problem;
  for (size_t i = 0; i < count; ++i) problem.hosts.push_back({"h" + std::to_string(i), cores, memory});
  problem.fixed.resize(count);
  problem.kept.resize(count, false);
  problem.fill = 0.8;
  return problem;
}

void add(Problem &problem, const std::string &name, double cpu, double memory) {
  const std::string host = problem.hosts[problem.items.size() % problem.hosts.size()].host;
  problem.items.push_back({name, name, host, {cpu, memory, true}});
}

void talk(Problem &problem, size_t a, size_t b, double bytes) {
  problem.between.push_back({a, b, bytes});
  problem.total += bytes;
}

// `load`: items over capacity, on average; above 1 most do not fit.
Problem random_problem(uint32_t seed, size_t items, size_t hosts, double load) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> part(0, 1);
  Problem problem = hosts_of(hosts, 4, 16000);
  for (size_t host = 0; host < hosts; ++host)
    if (part(random) < 0.3) problem.hosts[host].cpu = 8;
  const double mean = load * static_cast<double>(hosts) / static_cast<double>(items);
  for (size_t i = 0; i < items; ++i)
    add(problem, "i" + std::to_string(i), 2 * mean * 4 * part(random), 2 * mean * 16000 * part(random));
  for (size_t a = 0; a < items; ++a)
    for (size_t b = a + 1; b < items; ++b)
      if (part(random) < 0.4) talk(problem, a, b, 1e6 * part(random));
  return problem;
}

Placement searched(const Problem &problem) {
  query::Limits limits;
  limits.time_ns = std::numeric_limits<int64_t>::max() / 2;  // a loaded machine, or a sanitizer, needs more than a minute
  query::Budget budget(limits);
  return search(problem, current(problem, budget), {80, 200, 8, 1}, budget);
}

Judged best_of_all(const Problem &problem) {
  Placement placement(problem.items.size(), 0);
  Judged best = judged(problem, placement);
  for (;;) {
    size_t item = 0;
    while (item < placement.size() && ++placement[item] == problem.hosts.size()) placement[item++] = 0;
    if (item == placement.size()) return best;
    best = std::max(best, judged(problem, placement));
  }
}

// Groups of items that communicate among themselves, and a little with others.
Problem grouped(uint32_t seed, size_t items) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> part(0, 1);
  const size_t group_size = 5 + seed % 4;
  Problem problem = hosts_of(items / 8, 8, 32000);
  for (size_t i = 0; i < items; ++i)
    add(problem, "g" + std::to_string(i / group_size) + "-" + std::to_string(i), part(random), 4000 * part(random));
  for (size_t a = 0; a < items; ++a)
    for (size_t b = a + 1; b < items && b / group_size == a / group_size; ++b) talk(problem, a, b, 1e6 * part(random));
  for (size_t i = 0; i < items / 4; ++i) {
    const size_t a = random() % items, b = random() % items;
    if (a != b) talk(problem, std::min(a, b), std::max(a, b), 1e4 * part(random));
  }
  return problem;
}

// Each item on the first host with room, in the order of the groups.
Placement first_fit(const Problem &problem) {
  std::vector<double> cpu(problem.hosts.size(), 0), memory(problem.hosts.size(), 0);
  Placement placement(problem.items.size(), 0);
  for (size_t item = 0; item < placement.size(); ++item) {
    const graph::Resources &used = problem.items[item].used;
    size_t host = 0;
    while (cpu[host] + used.cpu > problem.hosts[host].cpu * problem.fill ||
           memory[host] + used.memory > problem.hosts[host].memory * problem.fill)
      REQUIRE(++host < problem.hosts.size());
    cpu[host] += used.cpu;
    memory[host] += used.memory;
    placement[item] = host;
  }
  return placement;
}

bool is_full_run() {
  return std::getenv("ATALAYA_FULL") != nullptr;
}

TEST_CASE("small problems are solved exactly, with and without enough capacity") {
  const uint32_t problems = is_full_run() ? 270 : 40;
  const size_t items = is_full_run() ? 10 : 7;
  for (uint32_t seed = 1; seed <= problems; ++seed) {
    CAPTURE(seed);
    const Problem problem = random_problem(seed, items, 4, 0.2 + 0.1 * (seed % 10));
    REQUIRE(is_enumerable(problem));
    const Judged found = judged(problem, searched(problem)), best = best_of_all(problem);
    CHECK(found.overload == doctest::Approx(best.overload).epsilon(1e-9));
    if (best.overload == 0) CHECK(found.product == doctest::Approx(best.product).epsilon(1e-9));
    if (best.overload == 0) CHECK(best.product <= bound_of(problem) * (1 + 1e-9));
  }
}

TEST_CASE("large problems are never solved worse than by first fit by group") {
  for (const size_t items : {size_t{200}, size_t{1000}}) {
    for (uint32_t seed = 1; seed <= (is_full_run() ? 10 : items == 200 ? 3 : 1); ++seed) {
      CAPTURE(items);
      CAPTURE(seed);
      const Problem problem = grouped(seed, items);
      const Judged greedy = judged(problem, first_fit(problem)), found = judged(problem, searched(problem));
      if (is_full_run())
        MESSAGE(items, " items: fitness ", found.product, " (first fit ", greedy.product, ", bound ", bound_of(problem),
                "), crossing ", found.crossing / problem.total, " (first fit ", greedy.crossing / problem.total, ")");
      CHECK(found.overload == 0);
      CHECK(found.product >= greedy.product);
      CHECK(found.crossing <= greedy.crossing);
      CHECK(found.product <= bound_of(problem) * (1 + 1e-9));
    }
  }
}

TEST_CASE("without enough capacity the load is spread, and the message says what would fit") {
  Problem problem = hosts_of(3, 4, 16000);
  for (int i = 0; i < 16; ++i) add(problem, "item" + std::to_string(i), 1, 100);
  talk(problem, 0, 1, 1e9);
  const Placement found = searched(problem);
  std::vector<size_t> count(3, 0);
  for (const size_t host : found) ++count[host];
  CHECK(*std::max_element(count.begin(), count.end()) == 6);
  CHECK(*std::min_element(count.begin(), count.end()) == 5);
  CHECK(score_of(problem, found).fitness < 0);
  const std::string text = misfit_text(problem, found);
  CHECK(text.find("would need 150 % of its cores") != std::string::npos);
  CHECK(text.ends_with("; the limit is 80 % (--fill); everything fits with 3 more hosts like h2"));
  add(problem, "giant", 5, 100);
  CHECK(misfit_text(problem, searched(problem)).ends_with("; no host is large enough for giant"));
}

}  // namespace
}  // namespace atalaya::place
