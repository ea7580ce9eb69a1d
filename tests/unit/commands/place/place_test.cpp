// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "plugins/commands/place/gather.h"
#include "plugins/commands/place/host_capacity.h"
#include "plugins/commands/place/problem.h"
#include "plugins/commands/place/report.h"
#include "plugins/commands/place/search.h"
#include "tests/unit/analysis/graph/flows.h"

namespace atalaya::place {
namespace {

constexpr SearchOptions kShort{40, 40, 8, 1};

Problem with_hosts(size_t count, double cores, double memory) {
  Problem problem;
  for (size_t i = 0; i < count; ++i) problem.hosts.push_back({"h" + std::to_string(i), cores, memory});
  problem.fixed.resize(count);
  problem.kept.resize(count, false);
  return problem;
}

void add_item(Problem &problem, const std::string &name, const std::string &host, double cpu, double memory) {
  problem.items.push_back({name, name, host, {cpu, memory, true}});
}

void talk(Problem &problem, size_t a, size_t b, double bytes) {
  problem.between.push_back({a, b, bytes});
  problem.total += bytes;
}

Placement current(const Problem &problem) {
  query::Budget budget({});
  return place::current(problem, budget);
}

Placement searched(const Problem &problem, const Placement &start) {
  query::Budget budget({});
  return search(problem, start, kShort, budget);
}

// The best of all placements, by trying each.
double best_of_all(const Problem &problem) {
  Placement placement(problem.items.size(), 0);
  Score score;
  double best = -std::numeric_limits<double>::infinity();
  for (;;) {
    best = std::max(best, fitness_of(problem, placement, score));
    size_t item = 0;
    while (item < placement.size() && ++placement[item] == problem.hosts.size()) placement[item++] = 0;
    if (item == placement.size()) return best;
  }
}

// Four servers with a worker and a database each, as in the evaluation of the design that this follows. `scan`: each worker queries
// the database on the same host; else the workers communicate with each other.
Problem cluster(bool scan) {
  Problem problem = with_hosts(4, 4, 15 * 1024);
  for (size_t i = 0; i < 4; ++i) {
    const std::string number = std::to_string(i), host = "h" + number;
    add_item(problem, "worker-" + number, host, 0.75, 2500);
    add_item(problem, "database-" + number, host, 0.9, 4000);
  }
  for (size_t a = 0; a < 4; ++a) {
    for (size_t b = 0; b < 4; ++b) talk(problem, 2 * a, 2 * b + 1, scan && a == b ? 1000 : 50);
    for (size_t b = a + 1; b < 4; ++b) talk(problem, 2 * a, 2 * b, scan ? 10 : 900);
  }
  return problem;
}

TEST_CASE("fewer hosts are better, overflow is worse than another host, and traffic decides the rest") {
  Problem problem = with_hosts(3, 4, 1000);
  for (int i = 0; i < 4; ++i) add_item(problem, "item", "h0", 1.5, 100);
  talk(problem, 0, 1, 100);
  talk(problem, 2, 3, 100);
  const auto fitness = [&](const Placement &placement) { return score_of(problem, placement).fitness; };
  CHECK(fitness({0, 0, 1, 1}) > fitness({0, 1, 0, 1}));
  CHECK(fitness({0, 0, 1, 1}) > fitness({0, 0, 1, 2}));
  CHECK(fitness({0, 0, 1, 1}) > fitness({0, 0, 0, 0}));
  CHECK(fitness({0, 1, 2, 2}) > fitness({0, 0, 0, 1}));
  const Score score = score_of(problem, {0, 0, 1, 1});
  CHECK(score.hosts == 2);
  CHECK(score.crossing == 0);
  CHECK(score.network == 1);
  CHECK(score.cpu == doctest::Approx(1 / 1.5));
  CHECK(score.used[0].cpu == 3);
  CHECK(score.fitness == doctest::Approx(score.cpu * score.memory * score.network));
}

TEST_CASE("too much on a host is worse than anything that fits") {
  // All traffic is between the two, and one of the two resources is too small.
  for (const auto &[cpu, memory] : {std::pair(0.55, 0.1), std::pair(0.1, 0.58)}) {
    Problem problem = with_hosts(3, 1, 1);
    add_item(problem, "one", "h0", cpu, memory);
    add_item(problem, "two", "h0", cpu, memory);
    talk(problem, 0, 1, 1000);
    CHECK(score_of(problem, {0, 1}).fitness > score_of(problem, {0, 0}).fitness);
    CHECK(score_of(problem, searched(problem, {0, 0})).hosts == 2);
  }
  Problem problem = with_hosts(3, 1, 1);
  add_item(problem, "a", "h0", 0.5, 0.5);
  add_item(problem, "b", "h0", 0.51, 0.5);
  add_item(problem, "c", "h1", 0, 1);
  CHECK(score_of(problem, {0, 1, 2}).fitness > score_of(problem, {0, 0, 1}).fitness);
}

TEST_CASE("a load that stays on a host takes its room, and attracts items that communicate with it") {
  Problem problem = with_hosts(2, 4, 1000);
  problem.fixed[0].cpu = 3.5;
  add_item(problem, "item", "h0", 1, 1);
  CHECK(searched(problem, current(problem)) == Placement{1});
  problem.fixed[0].cpu = 0;
  problem.to_host.push_back({0, 0, 100});
  problem.total = 100;
  CHECK(searched(problem, {1}) == Placement{0});
}

TEST_CASE("nothing is gained by moving things off a host that stays as full") {
  // As two hosts of two cores reported: most of the load of h1 cannot move, and the movable items communicate with it.
  Problem problem = with_hosts(2, 2, 24000);
  problem.fill = 0.8;
  problem.fixed = {{1.27, 2500, true}, {1.872, 2500, true}};
  problem.kept = {true, true};
  for (const char *host : {"h0", "h0", "h1", "h1"}) add_item(problem, "item", host, 0.01, 20);
  talk(problem, 0, 1, 1000);
  problem.to_host.push_back({2, 1, 1000});
  problem.to_host.push_back({3, 1, 1000});
  problem.total += 2000;
  const Placement now = current(problem);
  CHECK(searched(problem, now) == now);
  CHECK(score_of(problem, {0, 0, 0, 0}).hosts == 2);
  CHECK(score_of(problem, {0, 0, 0, 0}).cpu < 0.1);
  CHECK(as_table(problem, {problem, now}, now, {}).find("emptied") == std::string::npos);
  // A large load of such a host moves where it fits.
  problem.items[2].used.cpu = problem.items[3].used.cpu = 0.12;
  CHECK(searched(problem, now) == Placement{0, 0, 0, 0});
}

TEST_CASE("a host that nothing is left on could be emptied, one where something stays is in use") {
  Problem problem = with_hosts(3, 4, 1000);
  problem.fixed[1].cpu = 0.1;  // load outside of containers
  add_item(problem, "one", "h0", 1, 100);
  add_item(problem, "two", "h1", 1, 100);
  CurrentState now{problem, current(problem)};
  CHECK(score_of(problem, {0, 0}).hosts == 1);
  const std::string table = as_table(problem, now, {0, 0}, {});
  CHECK(table.find("in use\n") != std::string::npos);
  CHECK(table.find("could be emptied\n") != std::string::npos);
  CHECK(table.find("not needed\n") != std::string::npos);
  now.problem.kept[1] = problem.kept[1] = true;
  CHECK(score_of(problem, {0, 0}).hosts == 2);
  CHECK(as_table(problem, now, {0, 0}, {}).find("emptied") == std::string::npos);
  CHECK(as_json(problem, now, {0, 0}, {}).find(R"("in_use":true)") != std::string::npos);
  problem.max_hosts = 1;  // may have something placed on them
  CHECK(score_of(problem, {0, 0}).fitness > 0);
}

TEST_CASE("half of the hosts do for the example, with the traffic within them") {
  for (const bool scan : {true, false}) {
    const Problem problem = cluster(scan);
    const Placement before = current(problem), after = searched(problem, before);
    const Score old = score_of(problem, before), best = score_of(problem, after);
    CHECK(old.hosts == 4);
    CHECK(best.hosts == 2);
    CHECK(best.crossing < old.crossing);
    CHECK(best.fitness == doctest::Approx(best_of_all(problem)));
    for (const graph::Resources &used : best.used) CHECK(used.cpu <= 4);
    if (scan) {
      for (size_t i = 0; i < 4; ++i) CHECK(after[2 * i] == after[2 * i + 1]);
    } else {
      CHECK((after[0] == after[2] && after[2] == after[4] && after[4] == after[6]));
    }
  }
}

TEST_CASE("the search finds the best of all placements of small problems") {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> part(0, 1);
  for (int round = 0; round < 25; ++round) {
    CAPTURE(round);
    Problem problem = with_hosts(2 + round % 3, 4, 16000);
    const size_t items = 4 + static_cast<size_t>(round) % 5;
    for (size_t i = 0; i < items; ++i)
      add_item(problem, "item", "h" + std::to_string(i % problem.hosts.size()), 2 * part(random), 8000 * part(random));
    for (size_t a = 0; a < items; ++a)
      for (size_t b = a + 1; b < items; ++b)
        if (part(random) < 0.5) talk(problem, a, b, 1e6 * part(random));
    const Placement start = current(problem), found = searched(problem, start);
    CHECK(score_of(problem, found).fitness == doctest::Approx(best_of_all(problem)).epsilon(1e-9));
    if (round % 5 == 0) CHECK(searched(problem, start) == found);  // the same each time
  }
}

TEST_CASE("an optimal placement stays, and equal hosts keep their items") {
  Problem problem = with_hosts(2, 1, 1000);
  add_item(problem, "one", "h1", 0.9, 10);
  add_item(problem, "two", "h0", 0.9, 10);
  CHECK(searched(problem, current(problem)) == Placement{1, 0});
  Problem larger = cluster(true);
  const Placement before = current(larger), after = searched(larger, before);
  size_t moved = 0;
  for (size_t i = 0; i < before.size(); ++i) moved += before[i] != after[i] ? 1 : 0;
  CHECK(moved == 4);
}

TEST_CASE("items of a host that is gone go where they fit") {
  Problem problem = with_hosts(2, 4, 1000);
  add_item(problem, "big", "h0", 3.8, 10);
  add_item(problem, "homeless", "gone", 1, 10);
  CHECK(current(problem) == Placement{0, 1});
}

TEST_CASE("of the hosts that may be used those are that suit best") {
  // The first by name are too small for the largest traffic; the last has the fixed load, and communicates with one.
  Problem problem = with_hosts(4, 4, 1000);
  problem.hosts[0].memory = problem.hosts[1].memory = 100;
  for (const char *host : {"h0", "h1", "h2", "h3", "h2"}) add_item(problem, host, host, 1, 90);
  talk(problem, 0, 1, 1000);
  problem.to_host.push_back({4, 3, 500});
  problem.total += 500;
  for (problem.max_hosts = 1; problem.max_hosts <= 4; ++problem.max_hosts) {
    CAPTURE(problem.max_hosts);
    const Placement start = current(problem), found = searched(problem, start);
    CHECK(score_of(problem, start).hosts <= problem.max_hosts);
    CHECK(score_of(problem, found).hosts <= problem.max_hosts);
    CHECK(score_of(problem, found).fitness == doctest::Approx(best_of_all(problem)));
  }
  problem.max_hosts = 2;
  CHECK(score_of(problem, {0, 1, 2, 3, 2}).fitness == -2);
  CHECK(searched(problem, current(problem))[4] == 3);
}

TEST_CASE("hosts in a file") {
  const auto capacities = parse_capacities("# all\ndb1 8 32GiB\nweb1 2.5 4 GiB # small\n\n");
  REQUIRE(capacities);
  REQUIRE(capacities.value().size() == 2);
  CHECK(capacities.value()[0].memory == 32768);
  CHECK(capacities.value()[1].cpu == 2.5);
  CHECK(capacities.value()[1].memory == 4096);
  const auto error = [](const char *text) { return parse_capacities(text).error(); };
  CHECK(error("db1 8 32GiB\ndb2 8") == "line 2: \"db2 8\" is not NAME CORES MEMORY, as in \"db1 8 32 GiB\"");
  CHECK(error("db1 8 32GiB\ndb1 4 1GiB") == "line 2: \"db1\" is listed twice");
  CHECK(error("db1 nan 1GiB") == "line 1: \"db1 nan 1GiB\" is not NAME CORES MEMORY, as in \"db1 8 32 GiB\"");
  CHECK(error("db1 inf 1GiB").starts_with("line 1: "));
  CHECK(error("db1 -1 1GiB").starts_with("line 1: "));
  CHECK(error("db1 8 32").starts_with("line 1: "));
  CHECK(parse_capacities("").value().empty());
}

TEST_CASE("more hosts than there are are like the last one") {
  const std::vector<HostCapacity> capacities = {{"a", 2, 100}, {"b", 4, 200}};
  CHECK(with_new_hosts(capacities, 1).size() == 2);
  const auto four = with_new_hosts(capacities, 4);
  REQUIRE(four.size() == 4);
  CHECK(four[3].host == "new2");
  CHECK(four[3].cpu == 4);
  CHECK(with_new_hosts({}, 3).empty());
}

TEST_CASE("the problem of a graph: movable items, fixed load, and the outside") {
  using graph::test::opens;
  using graph::test::takes;
  std::vector<graph::Flow> flows = {opens("h0", "worker", "10.0.0.1", "10.0.0.2", "80", 10, 90),
                                    takes("h1", "database", "10.0.0.2", "10.0.0.1", "80", 90, 10),
                                    opens("h0", "worker", "127.0.0.1", "127.0.0.1", "22", 1, 2),
                                    takes("h0", "monitor", "127.0.0.1", "127.0.0.1", "22", 2, 1),
                                    opens("h0", "worker", "10.0.0.1", "192.0.2.1", "443", 500, 500),
                                    opens("h1", "database", "127.0.0.1", "127.0.0.1", "80", 7, 7)};
  flows[0].container = flows[2].container = flows[4].container = "web";
  flows[1].container = flows[5].container = "db";
  const std::vector<graph::Worker> workers = {{"h0", "6", "worker", "web", "", {1, 100, true}},
                                              {"h0", "7", "monitor", "", "", {0.5, 50, true}},
                                              {"h1", "8", "database", "db", "", {2, 200, true}},
                                              {"gone", "1", "x", "", "", {9, 9, true}}};
  const auto contained = [](const graph::Node &node) { return node.contained; };
  const graph::Graph graph = graph_of(flows, graph::paired(flows), workers, graph::By::container);
  const Problem problem = problem_of(graph, workers, {{"h0", 4, 1000}, {"h1", 4, 1000}}, 1, contained);
  REQUIRE(problem.items.size() == 2);
  CHECK(problem.items[0].name == "web");
  CHECK(problem.items[1].name == "db");
  CHECK(problem.items[1].used.cpu == 2);
  CHECK(problem.fixed[0].cpu == 0.5);
  CHECK(problem.fixed[1].cpu == 0);
  CHECK(problem.kept == std::vector<bool>{false, false});  // load outside of containers stays with the host
  const auto only_web = [](const graph::Node &node) { return node.name == "web"; };
  CHECK(problem_of(graph, workers, problem.hosts, 1, only_web).kept == std::vector<bool>{false, true});
  REQUIRE(problem.between.size() == 1);
  CHECK(problem.between[0].bytes == 100);
  CHECK(problem.total == 100 + 3 + 14);  // traffic to the outside crosses nothing
  CHECK(score_of(problem, {0, 0}).crossing == 14);
  CHECK(score_of(problem, {0, 1}).crossing == 100);
  CHECK(score_of(problem, {1, 1}).crossing == 3);
  CHECK(as_table(problem, {problem, {0, 1}}, {0, 0}, {}).find("stays") != std::string::npos);

  // On h1 alone: the traffic of web with the daemon of h0 crosses hosts now, and the current state is measured with h0.
  const Problem one = problem_of(graph, workers, {{"h1", 4, 1000}}, 1, contained);
  CHECK(one.total == problem.total);
  CHECK(score_of(one, {0, 0}).crossing == 3);
  REQUIRE(unlisted_hosts(one) == std::vector<std::string>{"h0"});
  for (const auto &known : {std::vector<HostCapacity>{{"h0", 4, 1000}}, std::vector<HostCapacity>{}}) {
    CurrentState now{problem_of(graph, workers, add_unlisted_hosts(one.hosts, unlisted_hosts(one), known), 1, contained), {}};
    now.placement = current(now.problem);
    const Score score = score_of(now.problem, now.placement);
    CHECK(score.hosts == 2);
    CHECK(score.crossing == 100);
    CHECK(std::isnan(score.fitness) == known.empty());
    const std::string json = as_json(one, now, {0, 0}, {});
    CHECK((json.find("\"fitness\":null") != std::string::npos) == known.empty());
    CHECK(json.find("nan") == std::string::npos);
  }
}

TEST_CASE("a container without traffic is placed too") {
  const std::vector<graph::Worker> workers = {{"h0", "6", "cron", "batch", "", {1, 100, true}},
                                              {"h0", "9", "cron", "batch", "", {0.5, 50, true}},
                                              {"h0", "7", "monitor", "", "", {0.5, 50, true}}};
  graph::Graph graph;
  graph.by = graph::By::container;
  const auto contained = [](const graph::Node &node) { return node.contained; };
  const Problem problem = problem_of(graph, workers, {{"h0", 4, 1000}, {"h1", 4, 1000}}, 1, contained);
  REQUIRE(problem.items.size() == 1);
  CHECK(problem.items[0].name == "batch");
  CHECK(problem.items[0].host == "h0");
  CHECK(problem.items[0].used.cpu == 1.5);
  CHECK(problem.fixed[0].cpu == 0.5);
  const auto none = [](const graph::Node &) { return false; };
  CHECK(problem_of(graph, workers, problem.hosts, 1, none).kept == std::vector<bool>{true, false});
}

TEST_CASE("unknown values of an item are not shown as zero") {
  Problem problem = with_hosts(1, 4, 1000);
  add_item(problem, "known", "h0", 1, 100);
  problem.items.push_back({"unknown", "unknown", "h0", {}});
  const std::string json = as_json(problem, {problem, {0, 0}}, {0, 0}, {});
  CHECK(json.find(R"({"name":"known","from":"h0","to":"h0","cpu":1,"memory":100})") != std::string::npos);
  CHECK(json.find(R"({"name":"unknown","from":"h0","to":"h0","cpu":null,"memory":null})") != std::string::npos);
}

TEST_CASE("replicas of one name are one patch with all their nodes") {
  Problem problem = with_hosts(3, 4, 1000);
  add_item(problem, "web\n- \"x\"", "h0", 1, 100);
  add_item(problem, "web\n- \"x\"", "h1", 1, 100);
  add_item(problem, "db", "h1", 1, 100);
  problem.hosts[2].host = "h\"2";
  const std::string text = as_kubernetes(problem, {0, 2, 0});
  CHECK(text.find("# db, now on h1\nspec:") != std::string::npos);
  CHECK(text.find("values: [\"h0\"]\n---\n# web\\x0a- \"x\", now on h0 h1\nspec:") != std::string::npos);
  CHECK(text.find("values: [\"h\\\"2\",\"h0\"]\n") != std::string::npos);
}

TEST_CASE("a search ends with the time of its question") {
  const Problem problem = cluster(true);
  query::Limits limits;
  limits.time_ns = -1;
  query::Budget budget(limits);
  CHECK_THROWS_AS(search(problem, current(problem), {40, 40, 1000, 1}, budget), query::TooMuch);
}

}  // namespace
}  // namespace atalaya::place
