// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/query/arithmetic/formula.h"

#include <doctest/doctest.h>

#include "tests/unit/store/query/memory_store.h"

namespace atalaya::query::test {
namespace {

Answer answer(const Tags &tags, const Values &values) {
  Answer made;
  made.tags = tags;
  for (const auto &[second, value] : values) made.points.push_back({kT0 + second * kSecond, value});
  return made;
}

const std::vector<std::vector<Answer>> kInputs = {
    {answer({{"host", "x"}, {"pid", "1"}}, {{1, 10}, {2, 20}}), answer({{"host", "y"}, {"pid", "2"}}, {{1, 30}})},
    {answer({{"host", "x"}}, {{1, 100}, {3, 7}}), answer({{"host", "y"}}, {{1, 50}})},
    {answer({}, {{1, 2}, {2, 0}})},
};

std::string eval(const char *formula) {
  Budget budget({});
  std::string text;
  for (const Answer &one : evaluate(formula, kInputs, budget)) {
    if (!text.empty()) text += " | ";
    for (const auto &tag : one.tags) text += tag.second + " ";
    text += shown(one.points);
  }
  return text;
}

TEST_CASE("members meet the aggregate of their group by their common tags, at equal times") {
  CHECK(eval("a / b * 100") == "x 1 1:10 | y 2 1:60");
  CHECK(eval("b - a") == "x 1 1:90 | y 2 1:20");
}

TEST_CASE("numbers and series without tags meet everything") {
  CHECK(eval("2 * (a + 1)") == "x 1 1:22 2:42 | y 2 1:62");
  CHECK(eval("-c") == "1:-2 2:0");
  CHECK(eval("a/c") == "x 1 1:5 | y 2 1:15");
  CHECK(eval("10 - 4 - 3 + 0*c") == "1:3 2:3");
}

// Each group is a single process of a service: the pid is common to it, and differs from the other metric's.
TEST_CASE("groups meet by the tags that they are grouped by") {
  const Answer up{"a", {{"pid", "1"}, {"process", "x"}}, {}, {{10, 6}}, {}, {{10, 0.5}}, 0.5};
  const Answer down{"b", {{"pid", "2"}, {"process", "x"}}, {}, {{10, 2}}};
  Budget budget({});
  const std::vector<std::string> keys = {"process"};
  const auto answers = evaluate("a / b", {{up}, {down}}, budget, &keys);
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].points.at(0).value == 3);
  CHECK(answers[0].tags == Tags{{"process", "x"}});
  CHECK(answers[0].aggregated_tags == std::vector<std::string>{"pid"});
  CHECK(answers[0].coverage == 0.5);
  CHECK(answers[0].partly.at(0).part == 0.5);
  CHECK(evaluate("a / b", {{up}, {down}}, budget).empty());
}

TEST_CASE("a wrong formula is refused with the position") {
  const auto error = [](const char *formula) {
    Budget budget({});
    try {
      evaluate(formula, kInputs, budget);
    } catch (const Wrong &wrong) {
      return std::string(wrong.what());
    }
    return std::string();
  };
  CHECK(error("a +") == "formula \"a +\": expected a number, a letter or \"(\" at position 4");
  CHECK(error("a d") == "formula \"a d\": expected an operator at position 3");
  CHECK(error("(a") == "formula \"(a\": expected \")\" at position 3");
  CHECK(error("z") == "formula \"z\": expected a letter from a to c at position 1");
  CHECK(error("1 + 1") == "formula \"1 + 1\" names no metric; a is the first --metric, b the second");
  CHECK(error((std::string(100, '(') + "a").c_str()).find("expected fewer parentheses") != std::string::npos);
}

TEST_CASE("a formula is held to the limits: of its operands only those count that are still needed") {
  Budget small({100, 3, kSecond});
  CHECK_THROWS_AS(evaluate("a + a", kInputs, small), TooMuch);
  Budget enough({100, 10, kSecond});
  CHECK(evaluate("c + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1", kInputs, enough).size() == 1);
}

}  // namespace
}  // namespace atalaya::query::test
