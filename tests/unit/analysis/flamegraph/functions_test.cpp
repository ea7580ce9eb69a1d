// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/flamegraph/functions.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <sstream>

#include "core/base/text/safe_text.h"

using namespace atalaya;
using namespace atalaya::flamegraph;

namespace {

// Random stacks of a few functions, with recursion; the first frame is a process.
Tree random_tree(std::mt19937 &random) {
  Tree tree;
  for (int i = 0; i < 60; ++i) {
    std::string stack = "p-" + std::to_string(random() % 3);
    for (auto depth = random() % 8; depth > 0; --depth) stack += std::string(";f") + static_cast<char>('a' + random() % 6);
    tree.add(tree.add_stack(stack), random() % 2 == 0 ? Side::shown : Side::before, static_cast<double>(1 + random() % 100));
  }
  tree.finish();
  return tree;
}

std::vector<std::string> lines_of(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("a recursive function counts once, and own times belong to the last frame") {
  Tree tree;
  tree.add(tree.add_stack("p;a;b;a"), Side::shown, 3);
  tree.add(tree.add_stack("p;a"), Side::shown, 4);
  tree.add(tree.add_stack("q;b"), Side::shown, 5);
  tree.finish();
  const auto functions = functions_of(tree, 1);
  REQUIRE(functions.size() == 2);
  CHECK(functions[0].name == "a");
  CHECK(functions[0].self[0] == 7);
  CHECK(functions[0].total[0] == 7);
  CHECK(functions[1].name == "b");
  CHECK(functions[1].self[0] == 5);
  CHECK(functions[1].total[0] == 8);
}

TEST_CASE("own times add up to the whole, whatever the number of rows; totals are between own time and the whole") {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    const Tree tree = random_tree(random);
    double sum = 0;
    for (const Function &one : functions_of(tree, 1)) {
      CHECK(one.self[0] <= one.total[0]);
      CHECK(one.total[0] <= tree.root().shown());
      sum += one.self[0];
    }
    CHECK(sum <= tree.root().shown());
    for (const size_t top : {1, 3, 100}) {
      double listed = 0;
      const auto lines = lines_of(function_table(tree, 1, {}, top));
      for (size_t i = 1; i < lines.size(); ++i) listed += std::stod(lines[i]);
      CHECK(listed == tree.root().shown());
    }
  }
}

TEST_CASE("the table has at most 80 columns, with the method of a long Java name") {
  Tree tree;
  const std::string java = "org.apache.hadoop.mapreduce.task.reduce.very.long.package.name.MergeManagerImpl.merge_[j]";
  tree.add(tree.add_stack("java-1;" + java), Side::shown, 123456789);
  tree.add(tree.add_stack("java-1;" + std::string(200, 'x')), Side::shown, 1);
  tree.finish();
  for (const bool compared : {false, true}) {
    Style style;
    style.compared = compared;
    const auto lines = lines_of(function_table(tree, 1, style, 10));
    REQUIRE(lines.size() == 3);
    for (const std::string &line : lines) CHECK(core::display_width(line) <= 80);
    CHECK(lines[1].find("MergeManagerImpl.merge") != std::string::npos);
  }
}

TEST_CASE("times in seconds; a comparison has the change of the share") {
  Tree tree;
  tree.add(tree.add_stack("p;a"), Side::shown, 3e9);
  tree.add(tree.add_stack("p;b"), Side::shown, 1e9);
  tree.add(tree.add_stack("p;b"), Side::before, 5e9);
  tree.finish();
  Style style;
  style.unit = Unit::nanoseconds;
  CHECK(function_table(tree, 1, style, 10) ==
        "self s  self %  total s  total %  function\n"
        " 3.000   75.00    3.000    75.00  a\n"
        " 1.000   25.00    1.000    25.00  b\n");
  style.compared = true;
  CHECK(function_table(tree, 1, style, 10) ==
        "self s  self %  before %  change  total %  function\n"
        " 3.000   75.00      0.00  +75.00    75.00  a\n"
        " 1.000   25.00    100.00  -75.00    25.00  b\n");
}
