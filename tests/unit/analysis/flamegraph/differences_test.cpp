// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/flamegraph/differences.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <set>
#include <string>

namespace atalaya::flamegraph {
namespace {

void add(Tree &tree, Side side, const char *stack, double value) {
  tree.add(tree.add_stack(stack), side, value);
}

}  // namespace

TEST_CASE("the function that only slow tasks call is first, before its callers and callees") {
  Tree tree;
  add(tree, Side::shown, "java;run;task;usual;work", 60);
  add(tree, Side::shown, "java;run;task;slow;work", 150);
  add(tree, Side::before, "java;run;task;usual;work", 240);
  tree.finish();
  const auto found = differences(tree, 1, {1, 4}, true);
  REQUIRE(found.size() == 4);
  CHECK(found[0].function == "slow");
  CHECK(found[0].change() == 150);
  CHECK(found[0].before == 0);
  const std::set<std::string> others{found[1].function, found[2].function, found[3].function};
  CHECK(others == std::set<std::string>{"run", "task", "work"});  // not the process
  CHECK(found[1].change() == 150);
  CHECK(found[1].before == 60);
}

TEST_CASE("a recursive function counts once") {
  Tree tree;
  add(tree, Side::shown, "p;f;g;f;g", 100);
  tree.finish();
  for (const Difference &one : differences(tree, 1, {2, 2}, true)) CHECK(one.shown == 50);
}

TEST_CASE("equal sets differ by chance only, and a planted function is found") {
  std::mt19937 dice(7);  // NOLINT(cert-msc51-cpp): the same in each run
  int false_ones = 0, found_ones = 0;
  constexpr int kRuns = 100;
  for (int run = 0; run < kRuns; ++run) {
    for (const bool is_planted : {false, true}) {
      Tree tree;
      for (const char *stack : {"p;a;b", "p;a;c", "p;d"}) {
        add(tree, Side::shown, stack, std::poisson_distribution<int>(300)(dice));
        add(tree, Side::before, stack, std::poisson_distribution<int>(900)(dice));
      }
      if (is_planted) add(tree, Side::shown, "p;a;planted;b", std::poisson_distribution<int>(100)(dice));
      tree.finish();
      const auto found = differences(tree, 1, {5, 15}, true);
      false_ones += !is_planted && !found.empty() ? 1 : 0;
      found_ones += is_planted && !found.empty() && found.front().function == "planted" ? 1 : 0;
    }
  }
  CHECK(false_ones <= 3);
  CHECK(found_ones == kRuns);
}

}  // namespace atalaya::flamegraph
