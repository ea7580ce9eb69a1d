// SPDX-License-Identifier: Apache-2.0
// Rules that cannot work are refused with the rule and the remedy.
#include <doctest/doctest.h>

#include "tests/unit/translators/alerts/rules.h"

namespace atalaya::alerts::test {
namespace {

std::string refusal(const core::Value &written) {
  std::string refused = AlertsBench(written).refused;
  REQUIRE(refused.starts_with("test: "));  // the label of the stage
  return refused.substr(6);
}

TEST_CASE("mistakes in rules") {
  CHECK(refusal(rules({rule("r", "x", {})})) == "rules[1] \"r\": a limit is missing; set above, below, or absent");
  CHECK(refusal(rules({rule("r", "x", {{"above", number(1)}, {"below", number(2)}})})) ==
        "rules[1] \"r\": above and below exclude each other; write two rules");
  CHECK(refusal(rules({rule("r", "x", {{"above", number(1)}, {"clear", number(2)}})})) ==
        "rules[1] \"r\": clear is higher than above; a firing alert would never end in between");
  CHECK(refusal(rules({rule("r", "x", {{"below", number(2)}, {"clear", number(1)}})})) ==
        "rules[1] \"r\": clear is lower than below; a firing alert would never end in between");
  CHECK(refusal(rules({rule("r", "x", {{"absent", text("1m")}, {"above", number(1)}})})) ==
        "rules[1] \"r\": absent has no limit; remove above, below and clear");
  CHECK(refusal(rules({rule("r", "x", {{"absent", text("1m")}})})) ==
        "rules[1] \"r\": absent needs by: the tags whose values are expected, such as by = { \"host\" }");
  CHECK(refusal(rules({rule("r", "x", {{"use", text("anomaly")}, {"below", number(1)}})})) ==
        "rules[1] \"r\": an anomaly needs above, such as above = 6");
  CHECK(refusal(rules({rule("r", "x", {{"above", number(1)}}), rule("r", "y", {{"above", number(1)}})})) ==
        "rules[2]: a rule \"r\" exists already; rename one");
  CHECK(refusal(rules({rule("", "x", {{"above", number(1)}})})) == "rules[1] \"\": the name is empty");
  CHECK(refusal(rules({rule("r", "x", {{"above", number(1)}, {"tags", table({{"a", text("~(")}})}})}))
            .starts_with("rules[1] \"r\": tags.a: "));
}

TEST_CASE("mistakes in silences") {
  const auto with = [](Members silence) {
    return rules({rule("r", "x", {{"above", number(1)}})}, {{"silences", list_of({table(silence)})}});
  };
  CHECK(refusal(with({{"until", text("tomorrow")}})) ==
        "silences[1].until: \"tomorrow\" is no time in UTC; write it as 2026-12-01T20:00:00Z");
  CHECK(refusal(with({{"from", text("2026-12-01T20:00:00Z")}, {"until", text("2026-12-01T19:00:00Z")}})) ==
        "silences[1] ends before it begins; swap from and until");
  CHECK(refusal(with({{"alert", text("~(")}})).starts_with("silences[1].alert: "));
}

}  // namespace
}  // namespace atalaya::alerts::test
