// SPDX-License-Identifier: Apache-2.0
// Stacks: returned texts, winning numbers, and damage.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "plugins/shared/store/sqlite/stacks/stack_tree.h"
#include "tests/unit/store/engines/fixture.h"

namespace atalaya::store::test {
namespace {

using Lines = std::vector<std::string>;

// Time in seconds and text of each stack, with its samples.
using Counts = std::map<std::pair<int64_t, std::string>, int64_t>;

Counts stacks_of(const std::string &path) {
  Counts counts;
  SqliteStore(path).stacks({}, [&](const Stack &stack) {
    const bool is_new = counts.emplace(std::pair{stack.time_ns / kSecond, std::string(stack.folded)}, stack.fields[0].count).second;
    CHECK(is_new);
  });
  return counts;
}

Samples &add(Samples &samples, int64_t second, std::string_view text, int64_t count, int64_t seconds = 10) {
  return samples.add(ATALAYA_STACK, second * kSecond, seconds * kSecond, {{"process", "java"}}, text)
      .count("profile.samples", count);
}

std::string frames(size_t count, const std::string &last) {
  std::string text;
  for (size_t i = 1; i < count; ++i) text += "f" + std::to_string(i % 100) + ';';
  return text + last;
}

TEST_CASE("a stack that is too deep or too long keeps its leaf end, and is marked") {
  TestStore store;
  Writer writer = store.writer();
  auto samples = store.samples();
  const std::string whole = frames(kMaxFrames, "leaf");
  const std::string name(200 << 10, 'x');
  add(samples, 1, whole, 1);
  add(samples, 2, "root;" + whole, 2);
  add(samples, 3, std::string(1 << 20, ';') + "a", 3);
  add(samples, 4, "root;" + name + ";" + name + ";leaf", 4);
  add(samples, 5, "root;" + name + name, 5);
  add(samples, 6, name + ";" + std::string(kMaxStackLength - name.size() - 1, '\xff'), 6);
  CHECK(writer.write(samples.span(), kNow).stack_ends == 4);

  std::string replaced;
  for (size_t i = name.size() + 1; i < kMaxStackLength; ++i) replaced += "\xef\xbf\xbd";
  CHECK(stacks_of(store.path) == Counts{{{1, whole}, 1},
                                        {{2, "[truncated];" + whole}, 2},
                                        {{3, "[truncated]" + std::string(kMaxFrames, ';') + "a"}, 3},
                                        {{4, "[truncated];" + name + ";leaf"}, 4},
                                        {{5, "[truncated]"}, 5},
                                        {{6, name + ";" + replaced}, 6}});
  CHECK(store.number("SELECT count(*) FROM stack_nodes") < static_cast<int64_t>(4 * kMaxFrames));
  CHECK(store.number("SELECT count(*) FROM stack_points WHERE folded LIKE '[truncated]%'") == 4);
}

TEST_CASE("a tree of many nodes returns each text, in any order of nodes") {
  TestStore store;
  Writer writer = store.writer();
  std::mt19937 random(3);
  Counts written;
  for (int64_t second = 1; second <= 20; ++second) {
    auto samples = store.samples();
    for (int i = 0; i < 100; ++i) {
      std::string text = "root";
      for (uint64_t depth = 0, length = random() % 40; depth < length; ++depth)
        text += ";f" + std::to_string(depth) + '_' + std::to_string(random() % 3);
      const auto count = static_cast<int64_t>(random() % 100 + 1);
      if (written.emplace(std::pair{second, text}, count).second) add(samples, second, text, count);
    }
    CHECK(writer.write(samples.span(), kNow).stack_ends == 0);
  }
  CHECK(Database(store.path, Access::read_only).number("SELECT count(*) FROM stack_nodes") > 10'000);
  CHECK(stacks_of(store.path) == written);
}

TEST_CASE("numbers of stacks in a batch that are cut to the same end are added; one that comes again replaces them") {
  TestStore store;
  Writer writer = store.writer();
  const std::string end = frames(kMaxFrames, "leaf");
  auto samples = store.samples();
  add(samples, 1, "a;" + end, 3);
  add(samples, 1, "b;" + end, 4);
  add(samples, 1, "c", 5);
  add(samples, 1, "c", 6);
  for (int i = 0; i < 2; ++i) CHECK(writer.write(samples.span(), kNow).stack_ends == 2);
  CHECK(stacks_of(store.path) == Counts{{{1, "[truncated];" + end}, 7}, {{1, "c"}, 6}});
}

TEST_CASE("a tree that is damaged ends, and shows nothing wrong") {
  TestStore store;
  {
    Writer writer = store.writer();
    auto samples = store.samples();
    add(samples, 1, "a;b;c", 1);
    add(samples, 2, "a;b;d", 2);
    add(samples, 3, "x", 3);
    writer.write(samples.span(), kNow);
  }
  // c is the third node, d the fourth.
  const char *damage = nullptr;
  SUBCASE("a node that is its own parent") {
    damage = "UPDATE stack_nodes SET parent = id WHERE id = 2";
  }
  SUBCASE("a circle") {
    damage = "UPDATE stack_nodes SET parent = 4 WHERE id = 2; UPDATE stack_nodes SET parent = 4 WHERE id = 3";
  }
  SUBCASE("a parent that is gone") {
    damage = "DELETE FROM stack_nodes WHERE id = 1";
  }
  SUBCASE("a parent that cannot be") {
    damage = "UPDATE stack_nodes SET parent = -1 WHERE id = 1";
  }
  SUBCASE("a frame that is gone") {
    damage = "DELETE FROM frames WHERE name = 'b'";
  }
  Database(store.path, Access::read_write).execute(damage);
  std::map<std::string, int64_t> sums;
  SqliteStore(store.path).stacks({}, [&](const Stack &stack) { sums[std::string(stack.folded)] += stack.fields[0].count; });
  CHECK(sums == std::map<std::string, int64_t>{{"", 3}, {"x", 3}});
  CHECK(store.sql("SELECT folded IS NULL, sum(value) FROM stack_points GROUP BY 1 ORDER BY 1") == Lines{"0|3", "1|3"});
}

TEST_CASE("a chain that is longer than any that was written has no text, nor has one of names that are too long") {
  TestStore store;
  {
    Writer writer = store.writer();
    auto samples = store.samples();
    add(samples, 1, "a;" + frames(kMaxFrames, "leaf"), 1);
    writer.write(samples.span(), kNow);
  }
  CHECK(stacks_of(store.path).begin()->first.second.size() > 2 * kMaxFrames);
  SUBCASE("longer") {
    Database(store.path, Access::read_write)
        .execute(
            "UPDATE stack_nodes SET id = id + 10000, parent = iif(parent = 0, 1, parent + 10000); "
            "INSERT INTO stack_nodes VALUES(1, 0, 1, 0); UPDATE stacks SET numbers = '{\"12049\":1}'");
    CHECK(store.number("SELECT max(id) FROM stack_nodes") == 12049);
  }
  SUBCASE("too long") {
    Database(store.path, Access::read_write).execute("UPDATE frames SET name = printf('%100000d', id)");
  }
  CHECK(stacks_of(store.path) == Counts{{{1, ""}, 1}});
}

TEST_CASE("a stack without a valid number removes nothing") {
  TestStore store;
  Writer writer = store.writer();
  auto samples = store.samples();
  add(samples, 10, "main;run", 7, 10);
  writer.write(samples.span(), kNow);
  auto bad = store.samples();
  bad.add(ATALAYA_STACK, 10 * kSecond, 5 * kSecond, {{"process", "java"}}, "main;run")
      .real("profile.samples", std::numeric_limits<double>::quiet_NaN());
  const Refused refused = writer.write(bad.span(), kNow);
  CHECK(refused.samples == 1);
  CHECK(refused.values == 1);
  CHECK(stacks_of(store.path) == Counts{{{10, "main;run"}, 7}});
  CHECK(store.number("SELECT count(*) FROM windows") == 1);
}

// The meaning of "the last one wins", without a store: time, stack and field, and the last value with the window's length.
struct Model {
  std::map<std::tuple<int64_t, std::string, std::string>, std::pair<int64_t, int64_t>> last;

  Lines lines() const {
    Lines lines;
    for (const auto &[key, value] : last)
      lines.push_back(std::to_string(std::get<0>(key)) + " " + std::get<1>(key) + " " + std::get<2>(key) + " " +
                      std::to_string(value.first) + " " + std::to_string(value.second));
    std::sort(lines.begin(), lines.end());
    return lines;
  }
};

TEST_CASE("stacks that come late, again, in parts and with other lengths of windows: the last one wins") {
  TestStore store;
  Writer writer = store.writer();
  std::mt19937 random(14);
  Model model;
  for (int batch = 0; batch < 60; ++batch) {
    auto samples = store.samples();
    for (int i = 0; i < 40; ++i) {
      const auto second = static_cast<int64_t>(10 + random() % 3 * 10), seconds = static_cast<int64_t>(5 + random() % 2 * 5);
      const std::string text = "main;f" + std::to_string(random() % 30);
      const std::string field = random() % 2 == 0 ? "profile.samples" : "profile.ns";
      const auto value = static_cast<int64_t>(random() % 1000);
      samples.add(ATALAYA_STACK, second * kSecond, seconds * kSecond, {{"process", "java"}}, text).count(field, value);
      model.last[{second, text, field}] = {value, seconds};
    }
    writer.write(samples.span(), kNow);
    if (batch % 10 == 9) {  // a packed row takes no more: the next ones of its time are a second window
      Database(store.path, Access::read_write).execute("UPDATE windows SET packed = 2");
      Lines lines;
      SqliteStore(store.path).stacks({}, [&](const Stack &stack) {
        for (const Field &field : stack.fields)
          lines.push_back(std::to_string(stack.time_ns / kSecond) + " " + std::string(stack.folded) + " " +
                          std::string(field.name) + " " + std::to_string(field.count) + " " +
                          std::to_string(stack.duration_ns / kSecond));
      });
      std::sort(lines.begin(), lines.end());
      CHECK(lines.size() > 50);
      CHECK(lines == model.lines());
    }
  }
  CHECK(store.number("SELECT count(*) FROM stacks WHERE numbers = '{}'") == 0);
}

TEST_CASE("a late sample for a damaged row is refused, and the row stays unchanged") {
  TestStore store;
  Writer writer = store.writer();
  auto samples = store.samples();
  add(samples, 10, "main;run", 7);
  writer.write(samples.span(), kNow);
  Database(store.path, Access::read_write).execute("UPDATE stacks SET numbers = '{\"2\":7,\"x'");
  CHECK_THROWS_WITH_AS(
      writer.write(samples.span(), kNow),
      ("database " + store.path +
       ": the row of window 1, entity 1, field 1 in the table stacks is damaged; end the agent, and run `atalaya store repair`")
          .c_str(),
      Error);
  CHECK(store.sql("SELECT numbers FROM stacks") == Lines{"{\"2\":7,\"x"});
  Database(store.path, Access::read_write).execute("DELETE FROM stacks");
  writer.write(samples.span(), kNow);
  CHECK(stacks_of(store.path) == Counts{{{10, "main;run"}, 7}});
}

TEST_CASE("retention deletes stacks by their size, a bounded part a step") {
  TestStore store;
  constexpr int kProcesses = 20, kStacks = 4000;
  Writer writer = store.writer({.retain_ns = kDay});
  auto samples = store.samples();
  for (int process = 0; process < kProcesses; ++process)
    for (int i = 0; i < kStacks; ++i)
      samples.add(ATALAYA_STACK, kNow, kSecond, {{"pid", std::to_string(process)}}, "main;" + std::to_string(i))
          .count("profile.samples", 1'000'000 + i);
  writer.write(samples.span(), kNow);
  auto later = store.samples();
  later.metrics(kNow + 2 * kDay, {{"pid", "1"}}).real("a", 1);
  writer.write(later.span(), kNow + 2 * kDay);
  const int64_t all = store.number("SELECT sum(length(numbers)) FROM stacks");
  CHECK(all > 1'000'000);
  writer.maintain(kNow + 2 * kDay);
  const int64_t left = store.number("SELECT sum(length(numbers)) FROM stacks");
  CHECK(left > all / 4);
  CHECK(left < all);
  for (int i = 0; i < 5; ++i) writer.maintain(kNow + 2 * kDay);
  CHECK(store.number("SELECT count(*) FROM stacks") == 0);
  CHECK(store.number("SELECT count(*) FROM windows") == 1);
}

}  // namespace
}  // namespace atalaya::store::test
