// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>

#include "plugins/shared/store/clickhouse/conditions.h"
#include "plugins/shared/store/clickhouse/wire/sql.h"
#include "tests/fuzz/clickhouse_literal.h"

namespace atalaya::store::clickhouse {
namespace {

using testing::unquote;

constexpr ServerVersion kOld{18, 16};
constexpr ServerVersion kNew{24, 8};

std::string old_text(const Sql &sql) {
  return sql.render(kOld).text;
}

TEST_CASE("clickhouse: a text is quoted for old servers and bound for those since 19.14") {
  Sql sql("SELECT ");
  sql.bind("it's\\\n") << ", " << int64_t{-7} << ", ";
  sql.bind("{p0:String}");
  CHECK(old_text(sql) == "SELECT 'it\\'s\\\\\\x0A', -7, '{p0:String}'");
  const auto bound = sql.render(kNew);
  CHECK(bound.text == "SELECT {p0:String}, -7, {p1:String}");
  CHECK(bound.parameters == "&param_p0=it%27s%5C%5C%5Cn&param_p1=%7Bp0%3AString%7D");
}

TEST_CASE("clickhouse: statements in statements keep their values in place") {
  Sql inner("b = ");
  inner.bind("2");
  Sql outer("a = ");
  outer.bind("1") << " AND " << inner << " AND c = ";
  outer.bind("3");
  CHECK(old_text(outer) == "a = '1' AND b = '2' AND c = '3'");
  CHECK(outer.render(kNew).parameters == "&param_p0=1&param_p1=2&param_p2=3");
}

TEST_CASE("clickhouse: a literal is read as the server reads it") {
  CHECK(unquote("'a\\'b''c\\x41\\n'") == "a'b'cA\n");
  for (const char *wrong : {"", "'", "a", "'a", "'a'b'", "'\\'", "'\\x4'", "'\\q'"}) CHECK_FALSE(unquote(wrong));
}

TEST_CASE("clickhouse: versions") {
  CHECK(server_version("18.16.1")->minor == 16);
  CHECK_FALSE(server_version("18.16.1")->binds());
  CHECK(server_version("19.14.3.3")->binds());
  CHECK(server_version("26.1")->binds());
  CHECK_FALSE(ServerVersion{19, 13}.binds());
  for (const char *wrong : {"", "18", "x.y", "<html>"}) CHECK_FALSE(server_version(wrong));
}

TEST_CASE("clickhouse: patterns become conditions that match the same values, or more") {
  const auto condition = [](const std::vector<std::string> &patterns) { return old_text(text_conditions("metric", patterns)); };
  CHECK(condition({}).empty());
  CHECK(condition({"a", "b"}) == " AND (metric = 'a' OR metric = 'b')");
  CHECK(condition({"a*", "!ab"}) == " AND (metric LIKE 'a%') AND metric != 'ab'");
  CHECK(condition({"a_b%?c[xy]d"}) == " AND (metric LIKE 'a\\\\_b\\\\%%c%')");
  CHECK(condition({"!a*", "!b?"}) == " AND metric NOT LIKE 'a%'");
  CHECK(condition({"\\*x"}) == " AND (metric = '*x')");
  CHECK(condition({"~^proc\\.cpu"}) == " AND (metric LIKE 'proc%')");
  CHECK(condition({"~^ab?c"}) == " AND (metric LIKE 'a%')");
  CHECK(condition({"~^a|b"}).empty());
  CHECK(condition({"~cpu$"}).empty());
  CHECK(condition({"a", "~cpu$"}).empty());
  CHECK(condition({"!~cpu$", "a"}) == " AND (metric = 'a')");
  CHECK(condition({std::string(5000, 'x')}).empty());
}

TEST_CASE("clickhouse: a tag that is absent passes only where all patterns are negated") {
  const auto condition = [](std::vector<std::string> patterns) { return old_text(tag_conditions({{"pid", std::move(patterns)}})); };
  CHECK(condition({"7"}) == " AND has(tags.key, 'pid') AND (tags.value[indexOf(tags.key, 'pid')] = '7')");
  CHECK(condition({"!7"}) == " AND (NOT has(tags.key, 'pid') OR tags.value[indexOf(tags.key, 'pid')] != '7')");
  CHECK(condition({"~7$"}) == " AND has(tags.key, 'pid')");
  CHECK(condition({"!~7$"}).empty());
}

TEST_CASE("clickhouse: a range is days") {
  CHECK(old_text(day_conditions({0, kDayNs})) == " AND day <= '1970-01-02'");
  CHECK(old_text(day_conditions({1'700'000'000'000'000'000, 1'700'000'000'000'000'001})) ==
        " AND day >= '2023-11-14' AND day <= '2023-11-14'");
  CHECK(old_text(day_conditions({})) == " AND day <= '2099-12-31'");
}

}  // namespace
}  // namespace atalaya::store::clickhouse
