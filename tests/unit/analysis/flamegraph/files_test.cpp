// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/flamegraph/files.h"

#include <doctest/doctest.h>

#include <atalaya/plugin.hpp>
#include <sstream>
#include <string>

#include "plugins/shared/analysis/flamegraph/files/folded.h"

namespace atalaya::flamegraph {
namespace {

Tree read(const std::string &text) {
  Tree tree;
  std::istringstream in(text);
  add_folded(tree, Side::shown, in, "x.folded");
  tree.finish();
  return tree;
}

TEST_CASE("all lines are added up, also the last one without an end") {
  const Tree tree = read("a;b 1\n\na;b 2\r\na 0\nc 4");
  CHECK(tree.root().shown() == 7);
  CHECK(folded_of(tree, false) == "a;b 3\nc 4\n");
}

TEST_CASE("a line that is no stack is left out, and a file without stacks is refused") {
  CHECK(read("# made by x\na;b 1\n").root().shown() == 1);
  CHECK(read("").root().shown() == 0);
  CHECK_THROWS_WITH_AS(read("\nELF?\nb\n"), "x.folded:2: not a folded stack (\"a;b;c 12\")", Failure);
}

TEST_CASE("a line without an end takes no more than a line") {
  CHECK_THROWS_AS(read(std::string((size_t{16} << 20) + 10, 'a') + " 1\n"), Failure);
}

TEST_CASE("a missing file") {
  Tree tree;
  CHECK_THROWS_WITH_AS(add_folded_file(tree, Side::shown, "/no/such.folded"), "/no/such.folded: No such file or directory",
                       Failure);
}

}  // namespace
}  // namespace atalaya::flamegraph
