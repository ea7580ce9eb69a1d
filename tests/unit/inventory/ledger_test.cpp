// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/inventory/ledger.h"

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
  Ledger ledger;
  CHECK(ledger.look(facts_of({{"a", "1"}, {"b", "1"}}), 100) == Records{{"a", "1", 100, kOpen}, {"b", "1", 100, kOpen}});
  CHECK(ledger.look(facts_of({{"a", "1"}, {"b", "1"}}), 200).empty());
  CHECK(ledger.look(facts_of({{"a", "2"}, {"c", "1"}}), 300) ==
        Records{{"a", "1", 100, 200}, {"b", "1", 100, 200}, {"a", "2", 300, kOpen}, {"c", "1", 300, kOpen}});
  CHECK(ledger.open() == Records{{"a", "2", 300, kOpen}, {"c", "1", 300, kOpen}});
}

TEST_CASE("what could not be read still holds") {
  Ledger ledger;
  ledger.look(facts_of({{"disk.a", "1"}, {"net.b", "1"}}), 100);
  Facts unread;
  unread.unread("disk.");
  CHECK(ledger.look(unread, 200) == Records{{"net.b", "1", 100, 100}});
  Facts changed = facts_of({{"disk.a", "2"}});
  changed.unread("disk.");
  CHECK(ledger.look(changed, 300).size() == 2);  // this part of it was
}

TEST_CASE("a clock that goes back makes nothing negative") {
  Ledger ledger;
  ledger.look(facts_of({{"a", "1"}}), 500);
  CHECK(ledger.look(facts_of({{"a", "2"}}), 100) == Records{{"a", "1", 500, 0}, {"a", "2", 100, kOpen}});
}

TEST_CASE("the text of a ledger is the ledger") {
  Ledger ledger;
  ledger.look(facts_of({{"config./a=b%:k", "x = y"}, {"b", "1"}}), 100);
  ledger.look(facts_of({{"config./a=b%:k", "x = y"}, {"b", "2"}}), 300);
  Ledger again;
  REQUIRE(again.read(ledger.text()));
  CHECK(again.open() == ledger.open());
  CHECK(again.ended() == Records{{"b", "1", 100, 200}});
  CHECK(again.text() == ledger.text());
  CHECK(again.look(facts_of({{"config./a=b%:k", "x = y"}, {"b", "2"}}), 400).empty());
  CHECK(again.ended().size() == 1);  // until something else happens
}

TEST_CASE("a text that is none leaves nothing") {
  Ledger ledger;
  CHECK_FALSE(ledger.read(""));
  CHECK_FALSE(ledger.read("atalaya inventory 2\n"));
  for (const char *line : {"x", "1", "1 -1", "1 -1 ", "1 -1 a", "1 -1 =b", "1 -1 a=", "1 -2 a=b", "1 -1 %zz=b", "1 -1 %4=b"})
    CHECK_FALSE(ledger.read(std::string("atalaya inventory 1\n1 -1 good=1\n") + line + "\n"));
  CHECK(ledger.size() == 0);
  CHECK(ledger.read("atalaya inventory 1\n1 -1 good=1\n"));
}

}  // namespace atalaya::inventory
