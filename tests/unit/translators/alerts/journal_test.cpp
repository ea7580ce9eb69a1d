// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/alerts/journal.h"

#include <doctest/doctest.h>

#include <random>
#include <string>

namespace atalaya::alerts {
namespace {

Kept random_alert(std::mt19937 &random) {
  const auto number = [&](int64_t maximum) { return std::uniform_int_distribution<int64_t>(0, maximum)(random); };
  const auto text = [&] {
    std::string bytes;
    for (int64_t i = number(6); i > 0; --i) bytes += static_cast<char>(number(255));
    return bytes;
  };
  Kept kept{static_cast<Kept::What>("PFCS"[number(3)]),
            number(INT64_MAX),
            number(INT64_MAX),
            static_cast<double>(number(1000)) / 7,
            number(1) == 1,
            text(),
            {}};
  for (int64_t i = number(3); i > 0; --i) kept.tags.emplace_back(text(), text());
  return kept;
}

TEST_CASE("a journal reads as it was written, whatever the names are") {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<Kept> all;
    for (int i = 0; i < round % 5; ++i) all.push_back(random_alert(random));
    const std::string text = journal_text(all);
    const auto read = parse_journal(text);
    REQUIRE(read.ok());
    REQUIRE(read.value().size() == all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      CHECK(read.value()[i].rule == all[i].rule);
      CHECK(read.value()[i].tags == all[i].tags);
      CHECK(read.value()[i].texts.advice == all[i].texts.advice);
      CHECK(read.value()[i].value == all[i].value);
    }
    CHECK(journal_text(read.value()) == text);
  }
}

TEST_CASE("a damaged journal is refused with the line") {
  const std::string first = "atalaya alerts 1\n";
  CHECK(parse_journal("something\n").error() == "is not a journal of alerts");
  CHECK(parse_journal("atalaya alerts 1").error() == "line 1 is cut");
  CHECK(parse_journal(first + "F 1 2 3 1 r s u a\nF 1 2").error() == "line 3 is cut");
  for (const char *line : {"X 1 2 3 1 r s u a", "F -1 2 3 1 r s u a", "F 1 2 nan 1 r s u a", "F 1 2 3 1", "F 1 2 3 1 r",
                           "F 1 2 3 1 r s u a key", "F  1 2 3 1 r s u a", "F 1 2 3 1 %4 s u a", ""})
    CHECK(parse_journal(first + line + "\n").error() == "line 2 is damaged");
}

}  // namespace
}  // namespace atalaya::alerts
