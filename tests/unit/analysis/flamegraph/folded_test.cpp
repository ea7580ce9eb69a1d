// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/flamegraph/files/folded.h"

#include <doctest/doctest.h>

#include <string>

namespace atalaya::flamegraph {
namespace {

TEST_CASE("a line is a stack and a number") {
  const auto check = [](std::string_view line, std::string_view stack, double value) {
    const auto found = parse_folded(line);
    REQUIRE(found);
    CHECK(found->stack == stack);
    CHECK(found->value == value);
  };
  check("a;b;c 12", "a;b;c", 12);
  check("java-1;StubRoutines (1)_[j] 3\r", "java-1;StubRoutines (1)_[j]", 3);
  check("a;operator new(unsigned long) 1.5", "a;operator new(unsigned long)", 1.5);
  check("a\t7  ", "a", 7);
  check("a 1e3", "a", 1000);
}

TEST_CASE("lines that are no stack with a number") {
  for (const char *line :
       {"", " ", "a", "12", "a;b", "a b", "a -1", "a nan", "a inf", "a 1x", "a 0x10", " 12", ";; 12", "a 1e999"}) {
    INFO(line);
    CHECK(!parse_folded(line));
  }
}

TEST_CASE("JSON as d3-flame-graph reads it, for names with any characters") {
  Tree tree;
  tree.add(tree.add_stack("a;<init>"), Side::shown, 2);
  tree.add(tree.add_stack("a;\"\\\x01\xff"), Side::shown, 1);
  tree.finish();
  CHECK(json_of(tree, false) ==
        "{\"name\":\"all\",\"value\":3,\"children\":[{\"name\":\"a\",\"value\":3,\"children\":["
        "{\"name\":\"\\\"\\\\\\u0001\xef\xbf\xbd\",\"value\":1,\"children\":[]},"
        "{\"name\":\"<init>\",\"value\":2,\"children\":[]}]}]}\n");
}

TEST_CASE("a comparison is of shares") {
  Tree tree;
  tree.add(tree.add_stack("a"), Side::shown, 30);
  tree.add(tree.add_stack("b"), Side::shown, 10);
  tree.add(tree.add_stack("a"), Side::before, 1);
  tree.add(tree.add_stack("c"), Side::before, 1);
  tree.finish();
  CHECK(folded_of(tree, true) == "a 1 30\nb 0 10\nc 1 0\n");
  CHECK(
      json_of(tree, true) ==
      "{\"name\":\"all\",\"value\":40,\"delta\":0,\"children\":[{\"name\":\"a\",\"value\":30,\"delta\":10,\"children\":[]},"
      "{\"name\":\"b\",\"value\":10,\"delta\":10,\"children\":[]},{\"name\":\"c\",\"value\":0,\"delta\":-20,\"children\":[]}]}\n");
}

TEST_CASE("nothing is an empty tree") {
  Tree tree;
  tree.finish();
  CHECK(folded_of(tree, false).empty());
  CHECK(json_of(tree, true) == "{\"name\":\"all\",\"value\":0,\"delta\":0,\"children\":[]}\n");
}

TEST_CASE("written stacks read back the same") {
  const std::string text = "a 1\na;b 9007199254740991\na;b;c 0.25\n";
  Tree tree;
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    const auto line = parse_folded(std::string_view(text).substr(at, text.find('\n', at) - at));
    REQUIRE(line);
    tree.add(tree.add_stack(line->stack), Side::shown, line->value);
  }
  tree.finish();
  CHECK(folded_of(tree, false) == text);
}

}  // namespace
}  // namespace atalaya::flamegraph
