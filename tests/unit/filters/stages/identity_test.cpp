// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/samples/identity.h"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/base/sample/batch.h"

namespace atalaya::core {
namespace {

std::string key_of(uint32_t kind, const std::vector<std::pair<uint32_t, std::string>> &tags, const std::string &text = "") {
  Batch batch;
  atalaya_sample &sample = batch.add_sample(kind);
  sample.text = batch.copy(text);
  for (const auto &[key, value] : tags) batch.add_tag(sample, key, value);
  io::IdentityKey key;
  return std::string(key.identity_of(sample));
}

}  // namespace

TEST_CASE("an identity is the set of tags, the kind and the text") {
  const std::string one = key_of(ATALAYA_METRICS, {{1, "a"}, {2, "b"}});
  CHECK(one == key_of(ATALAYA_METRICS, {{2, "b"}, {1, "a"}}));
  CHECK(one != key_of(ATALAYA_METRICS, {{1, "b"}, {2, "a"}}));
  CHECK(one != key_of(ATALAYA_METRICS, {{1, "a"}}));
  CHECK(one != key_of(ATALAYA_STACK, {{1, "a"}, {2, "b"}}));
  CHECK(key_of(ATALAYA_STACK, {}, "f;g") != key_of(ATALAYA_STACK, {}, "f"));
  CHECK(key_of(ATALAYA_METRICS, {{1, "ab"}, {2, ""}}) != key_of(ATALAYA_METRICS, {{1, "a"}, {2, "b"}}));
}

TEST_CASE("a table numbers identities in the order of first sight") {
  io::IdentityTable table(3);
  CHECK(table.find_or_add("x")->index == 0);
  CHECK(table.find_or_add("y")->added);
  CHECK_FALSE(table.find_or_add("x")->added);
  CHECK(table.find_or_add("z")->index == 2);
  CHECK_FALSE(table.find_or_add("w").has_value());
  CHECK(table.find_or_add("y")->index == 1);
  CHECK(table.key(1) == "y");
}

TEST_CASE("an identity that is not seen for long is removed and the caller's values move along") {
  std::mt19937 random(1);
  io::IdentityTable table;
  std::vector<std::string> values;  // by number, in step with the table
  std::map<std::string, int> last_seen;
  for (int window = 0; window < 600; ++window) {
    for (int i = 0; i < 30; ++i) {
      // Names drift, so that old ones die.
      const std::string name = "entity " + std::to_string(window / 3 + static_cast<int>(random() % 50));
      const auto found = table.find_or_add(name);
      REQUIRE(found.has_value());
      if (found->added) values.push_back(name);
      REQUIRE(values[found->index] == name);
      REQUIRE(table.key(found->index) == name);
      last_seen[name] = window;
    }
    table.next_window([&](uint32_t from, uint32_t to) { values[to] = values[from]; });
    values.resize(table.size());
    std::set<std::string_view> known;
    for (uint32_t i = 0; i < table.size(); ++i) known.insert(table.key(i));
    for (const auto &[name, seen] : last_seen)
      if (seen > window - 60) REQUIRE(known.count(name) == 1);
  }
  CHECK(table.size() < 150);
}

}  // namespace atalaya::core
