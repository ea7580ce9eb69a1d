// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/unit/store/engines/fixture.h"

namespace atalaya::store::test {
namespace {

using Lines = std::vector<std::string>;

void write(TestStore &store, Writer &writer, int64_t time_ns, int64_t arrived_ns, const std::string &process,
           int samples_count = 1) {
  auto samples = store.samples();
  for (int i = 0; i < samples_count; ++i)
    samples.metrics(time_ns, {{"process", process}, {"pid", std::to_string(i)}}).real("a", 0.123456789 + i);
  writer.write(samples.span(), arrived_ns);
  writer.maintain(arrived_ns);
}

int64_t number(const TestStore &store, const char *sql) {
  return Database(store.path, Access::read_only).number(sql);
}

TEST_CASE("points that arrived long ago are deleted, whatever their own time") {
  TestStore store;
  Writer writer = store.writer({.retain_ns = kDay});
  write(store, writer, kNow, kNow, "old");
  write(store, writer, kNow - 1000 * kDay, kNow + kHour, "imported history");
  write(store, writer, kNow + kDay + kLateNs + 1, kNow + kDay + kLateNs + 1, "new");
  CHECK(store.sql("SELECT process FROM points ORDER BY time") == Lines{"imported history", "new"});
  write(store, writer, kNow + 2 * kDay, kNow + kDay + kHour + kLateNs + 1, "newest");
  CHECK(store.sql("SELECT process FROM points ORDER BY time") == Lines{"new", "newest"});
}

TEST_CASE("entities and stacks go with their last row, and come back with the next") {
  TestStore store;
  Writer writer = store.writer({.retain_ns = kDay});
  auto stack = store.samples();
  stack.add(ATALAYA_STACK, kNow, kSecond, {{"process", "old"}}, "main;run").count("profile.samples", 1);
  writer.write(stack.span(), kNow);
  write(store, writer, kNow, kNow, "old");
  write(store, writer, kNow + kDay + 2 * kHour, kNow + kDay + 2 * kHour, "new");
  CHECK(store.sql("SELECT process FROM entities") == Lines{"new"});
  CHECK(number(store, "SELECT count(*) FROM stack_texts") == 0);
  CHECK(number(store, "SELECT count(*) FROM stacks") == 0);
  const int64_t later = kNow + kDay + 3 * kHour;
  write(store, writer, later, later, "old");
  CHECK(number(store, ("SELECT count(*) FROM " + kSamplesOfRows + " WHERE entity NOT IN (SELECT id FROM entities)").c_str()) == 0);
}

TEST_CASE("open spans are deleted with their age like ended ones, and then their entities") {
  TestStore store;
  Writer writer = store.writer({.retain_ns = kDay});
  auto samples = store.samples();
  samples.add(ATALAYA_SPAN, kNow, 5, {{"job", "1"}}, "ended");
  samples.add(ATALAYA_SPAN, kNow, -1, {{"job", "2"}}, "open");
  writer.write(samples.span(), kNow);
  write(store, writer, kNow, kNow, "old");
  write(store, writer, kNow + kDay + 2 * kHour, kNow + kDay + 2 * kHour, "new");
  CHECK(number(store, "SELECT count(*) FROM spans") == 0);
  CHECK(store.sql("SELECT process FROM entities") == Lines{"new"});
}

TEST_CASE("the data stays under max_size by deleting the oldest, and a smaller limit shrinks the file") {
  TestStore store;
  constexpr int64_t kLimit = 8 << 20, kWindows = 700;
  {
    Writer writer = store.writer({.max_bytes = 2 * kLimit});
    for (int64_t i = 0; i < kWindows; ++i) write(store, writer, kNow + i, kNow + i, "java", 1500);
  }
  const int64_t large = number(store, "PRAGMA page_count") * number(store, "PRAGMA page_size");
  CHECK(large > kLimit);
  CHECK(large < 3 * kLimit);
  Writer writer = store.writer({.max_bytes = kLimit});
  for (int64_t i = kWindows; i < kWindows + 100; ++i) write(store, writer, kNow + i, kNow + i, "java", 100);
  CHECK(number(store, "PRAGMA page_count") * number(store, "PRAGMA page_size") < kLimit + (5 << 20));
  CHECK(number(store, "SELECT max(time_ns) FROM windows") == kNow + kWindows + 99);
  CHECK(number(store, "SELECT count(*) FROM samples WHERE window NOT IN (SELECT id FROM windows)") == 0);
}

TEST_CASE("a step deletes a bounded number of rows, and the rest later") {
  TestStore store;
  Writer writer = store.writer({.retain_ns = kDay});
  write(store, writer, kNow, kNow, "java", 10'000);
  write(store, writer, kNow + 1, kNow + kDay + kLateNs + 1, "new");
  CHECK(store.row_count() > 5000);
  for (int i = 0; i < 3; ++i) writer.maintain(kNow + kDay + kLateNs + 1);
  CHECK(store.row_count() == 1);
}

TEST_CASE("too little free space on the disk takes no more than all but a rest") {
  TestStore store;
  Writer writer = store.writer({.min_free_bytes = int64_t{1} << 60});
  for (int64_t i = 0; i < 20; ++i) write(store, writer, kNow + i, kNow + i, "java", 100);
  CHECK(store.row_count() == 2000);
}

}  // namespace
}  // namespace atalaya::store::test
