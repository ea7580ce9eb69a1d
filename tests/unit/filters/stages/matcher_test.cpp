// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/match/matcher.h"

#include <doctest/doctest.h>

#include <random>
#include <regex>
#include <string>
#include <vector>

using atalaya::io::Matcher;
using atalaya::io::MatcherList;

namespace {

bool matches(const std::string &pattern, const std::string &subject) {
  auto matcher = atalaya::io::Matcher::parse(pattern);
  REQUIRE_MESSAGE(matcher.ok(), pattern);
  return matcher->matches(subject);
}

std::string error_of(const std::string &pattern) {
  auto matcher = atalaya::io::Matcher::parse(pattern);
  return matcher ? "" : matcher.error();
}

bool list_matches(const std::vector<std::string> &patterns, const std::string &subject) {
  auto list = atalaya::io::MatcherList::parse(patterns);
  REQUIRE(list.ok());
  return list->matches(subject);
}

}  // namespace

TEST_CASE("without metacharacters a pattern is the whole text") {
  CHECK(matches("java", "java"));
  CHECK_FALSE(matches("java", "javac"));
  CHECK_FALSE(matches("java", "Java"));
  CHECK(matches("a\\*b", "a*b"));
  CHECK_FALSE(matches("a\\*b", "axb"));
  CHECK(matches("\\!x", "!x"));
  CHECK(matches("\\~x", "~x"));
}

TEST_CASE("globs") {
  CHECK(matches("java*", "java"));
  CHECK(matches("java*", "javac"));
  CHECK_FALSE(matches("java*", "ajava"));
  CHECK(matches("*", ""));
  CHECK(matches("h?st[0-9]", "host7"));
  CHECK_FALSE(matches("h?st[0-9]", "hostx"));
  CHECK(matches("[!a-c]x", "dx"));
  CHECK_FALSE(matches("[!a-c]x", "bx"));
  CHECK(matches("[]]", "]"));
  CHECK(matches("*.cpu.*.x", "sys.cpu.cpu.y.x"));
  CHECK_FALSE(matches("*.cpu.*.x", "sys.cpu.x"));
  CHECK(matches("a**b", "ab"));
}

TEST_CASE("regular expressions search; the exclamation mark negates either form") {
  CHECK(matches("~^exec(utor)? [0-9]+$", "executor 12"));
  CHECK_FALSE(matches("~^exec(utor)? [0-9]+$", "executor x"));
  CHECK(matches("~b{2,3}", "abbc"));
  CHECK_FALSE(matches("~ab{2,3}c", "abbbbc"));
  CHECK(matches("~^(a|bc)*$", "abcbca"));
  CHECK(matches("~^[[:digit:]\\.]+$", "1.2"));
  CHECK(matches("~\\d\\s\\w", "1 _"));
  CHECK_FALSE(matches("!java*", "javac"));
  CHECK(matches("!~^exec", "java"));
}

TEST_CASE("regular expressions match bytes") {
  CHECK(matches("~^a.b$",
                "a\xff"
                "b"));
  CHECK(matches("~^a.b$", "a\nb"));
  CHECK(matches("~^caf\xc3\xa9$", "caf\xc3\xa9"));
  CHECK(matches("~^a.{2}b$",
                "a\xc3\xa9"
                "b"));
  CHECK_FALSE(matches("~^a$", "a\n"));
}

TEST_CASE("a catastrophic expression takes linear time") {
  CHECK_FALSE(matches("~^(a*)*(a|a)*(a+)+$", std::string(20000, 'a') + "b"));
}

TEST_CASE("a bad pattern is refused with the reason and position") {
  CHECK(error_of("") == "pattern \"\" is empty; write \"*\" for any text");
  CHECK(error_of("!") == "pattern \"!\" is empty; write \"*\" for any text");
  CHECK(error_of("a[b") == "pattern \"a[b\": [ is not closed or contains a descending range; write \\[ for the character");
  CHECK(error_of("a\\") == "pattern \"a\\\": \\ at the end; write \\\\ for the character");
  CHECK(error_of("~(a") == "regular expression \"(a\": missing ): (a");
  CHECK(error_of("~a)") == "regular expression \"a)\": unexpected ): a)");
  CHECK(error_of("~*a") == "regular expression \"*a\": no argument for repetition operator: *");
  CHECK(error_of("~(a)\\1") == "regular expression \"(a)\\1\": invalid escape sequence: \\1");
  CHECK(error_of("~((a{200}){200}){200}").starts_with("regular expression \"((a{200}){200}){200}\": invalid repetition size"));
}

TEST_CASE("a list is any of its patterns and none of the negated ones") {
  CHECK(list_matches({"a*", "b*"}, "b1"));
  CHECK_FALSE(list_matches({"a*", "b*"}, "c"));
  CHECK(list_matches({"!a*", "!b*"}, "c"));
  CHECK_FALSE(list_matches({"!a*", "!b*"}, "b1"));
  CHECK(list_matches({"a*", "!ab*"}, "ac"));
  CHECK_FALSE(list_matches({"a*", "!ab*"}, "abc"));
  CHECK(list_matches({}, "anything"));
}

TEST_CASE("random expressions agree with the standard library's") {
  std::mt19937 random(7);
  const std::vector<std::string> atoms = {"a", "b", ".", "[ab]", "[^a]", "(a|b)", "(ab)", "(b|)", "(a*b)"};
  const std::vector<std::string> repeats = {"", "", "", "*", "+", "?", "{2}", "{1,2}", "{2,}"};
  const auto pick = [&](const std::vector<std::string> &from) { return from[random() % from.size()]; };
  for (int round = 0; round < 400; ++round) {
    std::string pattern;
    if (random() % 3 == 0) pattern += "^";
    for (unsigned i = 0; i <= random() % 4; ++i) pattern += pick(atoms) + pick(repeats);
    if (random() % 3 == 0) pattern += "$";
    auto own = atalaya::io::Matcher::parse("~" + pattern);
    REQUIRE_MESSAGE(own.ok(), pattern);
    const std::regex oracle(pattern);
    for (int text = 0; text < 20; ++text) {
      std::string subject;
      for (unsigned i = 0; i < random() % 8; ++i) subject += "abc"[random() % 3];
      REQUIRE_MESSAGE(own->matches(subject) == std::regex_search(subject, oracle), pattern << " on " << subject);
    }
  }
}
