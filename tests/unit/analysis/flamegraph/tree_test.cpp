// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/flamegraph/tree.h"

#include <doctest/doctest.h>

#include <string>

#include "plugins/shared/analysis/flamegraph/files/folded.h"

namespace atalaya::flamegraph {
namespace {

void add(Tree &tree, std::string_view stack, double value, Side side = Side::shown) {
  tree.add(tree.add_stack(stack), side, value);
}

TEST_CASE("stacks that begin alike are together, and all values stay") {
  Tree tree;
  add(tree, "a;b;c", 5);
  add(tree, "a;b", 2);
  add(tree, "a;d", 1);
  add(tree, "a;b;c", 1);
  tree.finish();
  CHECK(tree.root().shown() == 9);
  REQUIRE(tree.children(0).size() == 1);
  const uint32_t a = tree.children(0)[0];
  CHECK(tree.name(a) == "a");
  CHECK(tree.node(a).shown() == 9);
  REQUIRE(tree.children(a).size() == 2);
  CHECK(tree.name(tree.children(a)[0]) == "b");
  CHECK(tree.node(tree.children(a)[0]).shown() == 8);
  CHECK(tree.node(tree.children(a)[0]).self[0] == 2);
  CHECK(folded_of(tree, false) == "a;b 2\na;b;c 6\na;d 1\n");
}

TEST_CASE("a function that is called again, by itself or by others, is at its position in the stack") {
  Tree tree;
  add(tree, "a;b;a", 3);
  add(tree, "a;a;a", 2);
  add(tree, "a", 1);
  tree.finish();
  const uint32_t a = tree.children(0)[0];
  CHECK(tree.node(a).shown() == 6);
  CHECK(folded_of(tree, false) == "a 1\na;a;a 2\na;b;a 3\n");
}

TEST_CASE("frames without a name are left out") {
  Tree tree;
  add(tree, ";a;;b;", 3);
  tree.finish();
  CHECK(folded_of(tree, false) == "a;b 3\n");
}

TEST_CASE("a stack that is too deep is cut where it is deep, and its value stays") {
  Tree tree({.depth = 3});
  add(tree, "a;b;c;d;e", 3);
  add(tree, "a;b;c", 1);
  tree.finish();
  CHECK(tree.cut() == 1);
  CHECK(folded_of(tree, false) == "a;b;c 4\n");
}

TEST_CASE("stacks that are too different are cut, and their value stays") {
  Tree tree({.nodes = 4});
  add(tree, "a;b", 1);
  add(tree, "a;c", 2);
  add(tree, "a;d", 4);
  add(tree, "a;b", 8);
  tree.finish();
  CHECK(tree.root().shown() == 15);
  CHECK(tree.cut() == 1);
  CHECK(folded_of(tree, false) == "a 4\na;b 9\na;c 2\n");
}

TEST_CASE("long names are no way around the limit") {
  Tree tree({.bytes = 100});
  add(tree, "a;" + std::string(200, 'x'), 1);
  add(tree, "a;b", 1);
  tree.finish();
  CHECK(tree.cut() == 1);
  CHECK(folded_of(tree, false) == "a 1\na;b 1\n");
}

TEST_CASE("a stack of a million frames, and a million stacks") {
  Tree deep;
  std::string stack;
  for (int i = 0; i < 1'000'000; ++i) stack += "f;";
  add(deep, stack, 7);
  deep.finish();
  CHECK(deep.root().shown() == 7);
  CHECK(deep.size() == 2049);
  CHECK(deep.cut() == 1);

  Tree wide({.nodes = 1000});
  for (int i = 0; i < 1'000'000; ++i) add(wide, "a;f" + std::to_string(i), 1);
  wide.finish();
  CHECK(wide.root().shown() == 1'000'000);
  CHECK(wide.size() == 1000);
}

TEST_CASE("stacks without a wanted frame go, and their values with them") {
  Tree tree;
  add(tree, "a;b;c", 1);
  add(tree, "a;b", 2);
  add(tree, "a;d;b", 4);
  add(tree, "a;e", 8);
  tree.keep([&](uint32_t node) { return tree.name(node) == "b"; });
  tree.finish();
  CHECK(tree.root().shown() == 7);
  CHECK(folded_of(tree, false) == "a;b 2\na;b;c 1\na;d;b 4\n");
}

}  // namespace
}  // namespace atalaya::flamegraph
