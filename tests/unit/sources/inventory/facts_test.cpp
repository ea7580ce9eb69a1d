// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/inventory/facts.h"

#include <doctest/doctest.h>

#include "plugins/sources/inventory/properties.h"

namespace atalaya::inventory {

TEST_CASE("facts are plain texts") {
  Facts facts;
  facts.add("a", "  one\ttwo\n");
  facts.add("b", " \n");
  facts.add("", "x");
  facts.add("a", "another");  // the first one is kept
  REQUIRE(facts.values().size() == 1);
  CHECK(facts.values().at("a") == "one two");
  CHECK_FALSE(facts.full());
}

TEST_CASE("long values are cut, and still distinct") {
  const std::string long_text(5000, 'x');
  Facts first, second;
  first.add("a", long_text + "1");
  second.add("a", long_text + "2");
  const std::string &cut = first.values().at("a");
  CHECK(cut.size() == kMaxValue);
  CHECK(cut.ends_with(")"));
  CHECK(cut.find(" ... (5001 bytes, ") != std::string::npos);
  CHECK(cut != second.values().at("a"));
  std::string umlauts;
  while (umlauts.size() < 3000) umlauts += "\xc3\xa4";
  Facts third;
  third.add("a", umlauts);
  const std::string &whole = third.values().at("a");
  CHECK(whole.substr(whole.find(" ... ") - 2, 2) == "\xc3\xa4");
}

TEST_CASE("the number of facts is limited") {
  Facts facts;
  for (size_t i = 0; i <= kMaxFacts; ++i) facts.add("f" + std::to_string(i), "x");
  CHECK(facts.values().size() == kMaxFacts);
  CHECK(facts.full());
}

TEST_CASE("a fact that could not be read does not end") {
  Facts facts;
  facts.mark_unreadable("disk.");
  CHECK(facts.is_unreadable("disk.sda.bytes"));
  CHECK_FALSE(facts.is_unreadable("net.eth0.mtu"));
}

TEST_CASE("assignments") {
  const std::vector<Property> wanted = {{"JAVA_VERSION", "17.0.15"}, {"A", "b c"}, {"E", ""}, {"Q", "\"x"}};
  CHECK(parse_assignments("# no\nJAVA_VERSION=\"17.0.15\"\n A = 'b c'\nE=\"\"\n=x\nnothing\nQ=\"x") == wanted);
  CHECK(parse_assignments("").empty());
}

TEST_CASE("properties as Java reads them") {
  const std::vector<Property> wanted = {{"spark.master", "yarn"},
                                        {"spark.executor.memory", "8g"},
                                        {"a", "one two"},
                                        {"b c", "d=e"},
                                        {"empty", ""},
                                        {"path", "C:\\x\ty"},
                                        {"end", "x"}};
  CHECK(parse_java_properties("# comment\n! comment\n\nspark.master   local\r\nspark.executor.memory=8g\n  a : one \\\n    two\n"
                              "b\\ c=d=e\nempty\npath = C:\\\\x\\ty\nspark.master yarn\nend x\\") == wanted);
  CHECK(parse_java_properties("\\").size() == 0);
}

}  // namespace atalaya::inventory
