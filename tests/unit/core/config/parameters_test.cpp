// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/describe/parameters.h"

#include <doctest/doctest.h>
#include <atalaya/plugin.hpp>

#include <cmath>

using namespace atalaya::core;
using namespace atalaya::literals;

namespace {

constexpr atalaya_param kText = {.type = ATALAYA_STRING};
constexpr atalaya_param kRule[] = {
    {.name = "match"_str, .type = ATALAYA_STRING, .flags = ATALAYA_REQUIRED},
    {.name = "weight"_str, .type = ATALAYA_NUMBER, .default_text = "1"_str},
};
constexpr atalaya_param kRuleRecord = {.type = ATALAYA_RECORD, .items = kRule, .item_count = 2, .item_size = sizeof(atalaya_param)};
constexpr atalaya_param kSpool[] = {
    {.name = "dir"_str, .type = ATALAYA_STRING, .flags = ATALAYA_REQUIRED},
    {.name = "max"_str, .type = ATALAYA_SIZE, .flags = ATALAYA_BOUNDED, .default_text = "1 GiB"_str, .min = 1024, .max = 1e30},
};
constexpr atalaya_param kParams[] = {
    {.name = "on"_str, .type = ATALAYA_BOOL, .default_text = "true"_str},
    {.name = "top"_str, .type = ATALAYA_INT, .flags = ATALAYA_BOUNDED, .default_text = "10"_str, .min = 1, .max = 1000},
    {.name = "wait"_str, .type = ATALAYA_INT, .flags = ATALAYA_BOUNDED, .unit = "packets"_str, .min = 0, .max = 5},
    {.name = "share"_str, .type = ATALAYA_NUMBER},
    {.name = "one"_str, .type = ATALAYA_INT, .flags = ATALAYA_BOUNDED, .min = 1, .max = 1},
    {.name = "some"_str, .type = ATALAYA_INT, .flags = ATALAYA_BOUNDED, .min = 1, .max = 0},
    {.name = "interval"_str, .type = ATALAYA_DURATION, .flags = ATALAYA_BOUNDED, .min = 1e9, .max = 60e9},
    {.name = "when_full"_str, .type = ATALAYA_ENUM, .default_text = "block"_str, .allowed = "block|drop_oldest|drop_newest"_str},
    {.name = "tags"_str,
     .type = ATALAYA_LIST,
     .default_text = "host,pid"_str,
     .items = &kText,
     .item_count = 1,
     .item_size = sizeof(kText)},
    {.name = "rename"_str, .type = ATALAYA_MAP, .items = &kText, .item_count = 1, .item_size = sizeof(kText)},
    {.name = "rules"_str, .type = ATALAYA_LIST, .items = &kRuleRecord, .item_count = 1, .item_size = sizeof(kRuleRecord)},
    {.name = "spool"_str, .type = ATALAYA_RECORD, .items = kSpool, .item_count = 2, .item_size = sizeof(atalaya_param)},
    {.name = "*"_str, .type = ATALAYA_NUMBER, .allowed = "*.*"_str},
};

Value boolean(bool b) {
  Value value;
  value.type = Value::Type::boolean;
  value.boolean = b;
  return value;
}
Value integer(int64_t i) {
  Value value;
  value.type = Value::Type::integer;
  value.integer = i;
  return value;
}
Value number(double n) {
  Value value;
  value.type = Value::Type::number;
  value.number = n;
  return value;
}
Value text(std::string s) {
  Value value;
  value.type = Value::Type::string;
  value.string = std::move(s);
  return value;
}
Value table(std::vector<std::pair<std::string, Value>> map, std::vector<Value> list = {}) {
  Value value;
  value.type = Value::Type::table;
  value.map = std::move(map);
  value.list = std::move(list);
  return value;
}

struct Resolved {
  Parameters parameters;
  std::vector<std::string> problems;
};
Resolved resolve(const Value &written) {
  std::vector<Problem> problems;
  Resolved result;
  result.parameters =
      Parameters::resolve({kParams, static_cast<uint32_t>(std::size(kParams)), sizeof(atalaya_param)}, written, problems);
  for (const auto &problem : problems) result.problems.push_back(problem.path + "|" + problem.text);
  return result;
}
// The only problem of one parameter.
std::string problem(const std::string &name, const Value &value) {
  const auto result = resolve(table({{name, value}}));
  REQUIRE(result.problems.size() == 1);
  return result.problems.front();
}

}  // namespace

TEST_CASE("an empty table yields the defaults; a parameter without default is absent") {
  const auto result = resolve({});
  CHECK(result.problems.empty());
  CHECK(result.parameters.find("on")->i64 == 1);
  CHECK(result.parameters.find("top")->i64 == 10);
  CHECK(result.parameters.find("when_full")->text == "block");
  CHECK(result.parameters.find("tags")->children.size() == 2);
  CHECK(result.parameters.find("tags[1]")->text == "pid");
  CHECK(result.parameters.find("share") == nullptr);
  CHECK(result.parameters.find("spool") == nullptr);
  CHECK(result.parameters.find("")->children.size() == 4);
}

TEST_CASE("values are read in the schema's types, and found by path") {
  const auto result = resolve(
      table({{"interval", text("5s")},
             {"on", boolean(false)},
             {"proc.cpu.user", number(0.5)},
             {"proc.cpu", integer(2)},
             {"rename", table({{"a.b", text("c")}})},
             {"rules", table({}, {table({{"match", text("java*")}}), table({{"match", text("x")}, {"weight", integer(3)}})})},
             {"share", integer(2)},
             {"spool", table({{"dir", text("/var/spool")}})},
             {"top", number(20.0)}}));
  CHECK(result.problems.empty());
  CHECK(result.parameters.find("interval")->i64 == 5'000'000'000);
  CHECK(result.parameters.find("on")->i64 == 0);
  CHECK(result.parameters.find("share")->f64 == 2.0);
  CHECK(result.parameters.find("top")->i64 == 20);
  CHECK(result.parameters.find("proc.cpu.user")->f64 == 0.5);
  CHECK(result.parameters.find("proc.cpu")->f64 == 2.0);
  CHECK(result.parameters.find("rename.a.b")->text == "c");
  CHECK(result.parameters.find("rules[1].match")->text == "x");
  CHECK(result.parameters.find("rules[1].weight")->f64 == 3.0);
  CHECK(result.parameters.find("rules[0].weight")->f64 == 1.0);
  CHECK(result.parameters.find("spool.dir")->text == "/var/spool");
  CHECK(result.parameters.find("spool.max")->i64 == 1 << 30);
  CHECK(result.parameters.find("rules[2]") == nullptr);
  CHECK(result.parameters.find("rules[") == nullptr);
  CHECK(result.parameters.find("spool.nothing") == nullptr);
}

TEST_CASE("a wrong value is named with the expected type, its unit, its default and the actual value") {
  CHECK(problem("on", integer(1)) == "on|expected true or false (default true), got 1 (number)");
  CHECK(problem("top", text("x")) == "top|expected a whole number (default 10), got \"x\" (string)");
  CHECK(problem("top", number(1.5)) == "top|expected a whole number (default 10), got 1.5 (number)");
  CHECK(problem("top", number(1e300)) == "top|expected a whole number (default 10), got 1e+300 (number)");
  CHECK(problem("top", integer(0)) == "top|0 is out of range, 1 to 1000 (default 10)");
  CHECK(problem("wait", integer(6)) == "wait|6 is out of range, 0 to 5 packets");
  CHECK(problem("wait", boolean(true)) == "wait|expected a whole number (packets), got true (boolean)");
  CHECK(problem("one", integer(2)) == "one|2 is out of range, only 1");
  CHECK(problem("some", integer(0)) == "some|0 is out of range, at least 1");
  CHECK(problem("share", number(std::nan(""))) == "share|expected a number, got nan (number)");
  CHECK(problem("interval", integer(5)) == "interval|expected a duration such as \"5s\", got 5 (number)");
  CHECK(problem("interval", text("5")) == "interval|\"5\" has no unit; write \"5s\" (units: ns us ms s m h d w y)");
  CHECK(problem("interval", text("2m")) == "interval|2m is out of range, 1s to 1m");
  CHECK(problem("when_full", text("drop")) == "when_full|\"drop\" is not one of block, drop_oldest, drop_newest");
  CHECK(problem("when_full", integer(1)) ==
        "when_full|expected one of block, drop_oldest, drop_newest (default block), got 1 (number)");
  CHECK(problem("tags", integer(5)) == "tags|expected a list (default host,pid), got 5 (number)");
  CHECK(problem("tags", table({}, {text("a"), integer(2)})) == "tags[2]|expected a string, got 2 (number)");
  CHECK(problem("rename", table({}, {text("a")})) == "rename|expected a table of name = value, got a table");
  CHECK(problem("rename", table({{"a", integer(1)}})) == "rename.a|expected a string, got 1 (number)");
  CHECK(problem("rules", table({}, {table({})})) == "rules[1]|required parameter \"match\" is missing: a string");
  CHECK(problem("spool", table({{"dir", text("d")}, {"max", text("1 B")}})) ==
        "spool.max|1 B is out of range, at least 1 KiB (default 1 GiB)");
  CHECK(problem("spool", table({{"dir", text("d")}, {"mx", integer(1)}})) ==
        "spool|unknown parameter \"mx\"; did you mean \"max\"?");
  CHECK(problem("intreval", text("5s")) ==
        "|unknown parameter \"intreval\"; did you mean \"interval\"?; other names have the form *.*");
  CHECK(problem("proc.cpu", text("high")) == "proc.cpu|expected a number, got \"high\" (string)");
}

TEST_CASE("all problems come in one run, and valid values are kept") {
  const auto result = resolve(table({{"interval", integer(5)}, {"share", number(0.5)}, {"top", integer(0)}}, {text("x")}));
  CHECK(result.problems.size() == 3);
  CHECK(result.parameters.find("share")->f64 == 0.5);
  CHECK(resolve(text("x")).problems == std::vector<std::string>{"|expected a table of parameters, got \"x\" (string)"});
}

TEST_CASE("integers keep all their digits") {
  std::vector<Problem> problems;
  constexpr atalaya_param kCount = {.name = "count"_str, .type = ATALAYA_INT};
  const auto resolved = Parameters::resolve({&kCount, 1, sizeof(kCount)}, table({{"count", integer(INT64_MAX)}}), problems);
  CHECK(resolved.find("count")->i64 == INT64_MAX);
}

TEST_CASE("values from a command line take the type that the schema wants") {
  CHECK(value_from_text(kParams[0], "false") == boolean(false));
  CHECK(value_from_text(kParams[0], "no") == text("no"));
  CHECK(value_from_text(kParams[1], "5") == integer(5));
  CHECK(value_from_text(kParams[3], "0.5") == number(0.5));
  CHECK(value_from_text(kParams[3], "0.5x") == text("0.5x"));
  CHECK(value_from_text(kParams[6], "5s") == text("5s"));
  CHECK(value_from_text(kParams[8], "a,b") == table({}, {text("a"), text("b")}));
  CHECK(value_from_text(kParams[8], "") == table({}));
  CHECK(value_from_text(kParams[9], "b=2,a=1") == table({{"a", text("1")}, {"b", text("2")}}));
  CHECK(value_from_text(kParams[11], "dir=/x,max=1 MiB") == table({{"dir", text("/x")}, {"max", text("1 MiB")}}));
}
