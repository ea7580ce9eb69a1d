// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/inventory/fact_history.h"

#include <doctest/doctest.h>

#include <initializer_list>
#include <utility>

namespace atalaya::inventory {
namespace {

Facts facts_of(std::initializer_list<std::pair<const char *, const char *>> pairs) {
  Facts facts;
  for (const auto &[name, value] : pairs) facts.add(name, value);
  return facts;
}

using Records = std::vector<Record>;

}  // namespace

TEST_CASE("a change ends one and begins the next") {
  FactHistory history;
  CHECK(history.update(facts_of({{"a", "1"}, {"b", "1"}}), 100) == Records{{"a", "1", 100, kOpen}, {"b", "1", 100, kOpen}});
  CHECK(history.update(facts_of({{"a", "1"}, {"b", "1"}}), 200).empty());
  CHECK(history.update(facts_of({{"a", "2"}, {"c", "1"}}), 300) ==
        Records{{"a", "1", 100, 200}, {"b", "1", 100, 200}, {"a", "2", 300, kOpen}, {"c", "1", 300, kOpen}});
  CHECK(history.open() == Records{{"a", "2", 300, kOpen}, {"c", "1", 300, kOpen}});
}

TEST_CASE("what could not be read still holds") {
  FactHistory history;
  history.update(facts_of({{"disk.a", "1"}, {"net.b", "1"}}), 100);
  Facts unread;
  unread.mark_unreadable("disk.");
  CHECK(history.update(unread, 200) == Records{{"net.b", "1", 100, 100}});
  Facts changed = facts_of({{"disk.a", "2"}});
  changed.mark_unreadable("disk.");
  CHECK(history.update(changed, 300).size() == 2);  // this part of it was
}

TEST_CASE("a clock that goes back makes nothing negative") {
  FactHistory history;
  history.update(facts_of({{"a", "1"}}), 500);
  CHECK(history.update(facts_of({{"a", "2"}}), 100) == Records{{"a", "1", 500, 0}, {"a", "2", 100, kOpen}});
}

TEST_CASE("the text of a history is the history") {
  FactHistory history;
  history.update(facts_of({{"config./a=b%:k", "x = y"}, {"b", "1"}}), 100);
  history.update(facts_of({{"config./a=b%:k", "x = y"}, {"b", "2"}}), 300);
  FactHistory again;
  REQUIRE(again.read(history.text()));
  CHECK(again.open() == history.open());
  CHECK(again.ended() == Records{{"b", "1", 100, 200}});
  CHECK(again.text() == history.text());
  CHECK(again.update(facts_of({{"config./a=b%:k", "x = y"}, {"b", "2"}}), 400).empty());
  CHECK(again.ended().size() == 1);  // until something else happens
}

TEST_CASE("a text that is none leaves nothing") {
  FactHistory history;
  CHECK_FALSE(history.read(""));
  CHECK_FALSE(history.read("atalaya inventory 2\n"));
  for (const char *line : {"x", "1", "1 -1", "1 -1 ", "1 -1 a", "1 -1 =b", "1 -1 a=", "1 -2 a=b", "1 -1 %zz=b", "1 -1 %4=b"})
    CHECK_FALSE(history.read(std::string("atalaya inventory 1\n1 -1 good=1\n") + line + "\n"));
  CHECK(history.size() == 0);
  CHECK(history.read("atalaya inventory 1\n1 -1 good=1\n"));
}

}  // namespace atalaya::inventory
