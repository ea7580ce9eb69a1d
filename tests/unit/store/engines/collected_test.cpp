// SPDX-License-Identifier: Apache-2.0
// The law of coverage, of the store: it knows when each family of a host was collected, in whatever order that arrives.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plugins/shared/store/sqlite/repair.h"
#include "tests/unit/store/engines/fixture.h"

namespace atalaya::store::test {
namespace {

constexpr int64_t kT0 = kNow - kNow % kHour;

struct Window {
  std::string host, family;
  int end, length;
};

// Agents that start and stop, and what they stored, in the order of arrival: late batches, and the same ones again.
struct Arrivals {
  explicit Arrivals(unsigned seed) : random(seed) {
    for (int h = 1; h <= 2; ++h) {
      const std::string host = "h" + std::to_string(h);
      const int step = any(1, 30);
      for (int at = any(0, 300); at < 3600; at += any(31, 900)) {
        for (const int second : {at, at - any(1, 30)})
          for (const char *family : {"proc", "sys"}) windows.push_back({host, family, second, 0});
        for (int i = any(1, 40); i > 0; --i) {
          at += step;
          for (const char *family : {"proc", "sys"}) {
            windows.push_back({host, family, at, step});
            for (int s = at - step + 1; s <= at; ++s) collected[{host, family}].insert(s);
          }
        }
      }
    }
    std::stable_sort(windows.begin(), windows.end(), [](const Window &a, const Window &b) { return a.end < b.end; });
    for (int i = 0; i < 20; ++i) {  // from a spool
      const auto from = static_cast<size_t>(any(0, static_cast<int>(windows.size()) - 1));
      std::rotate(windows.begin() + static_cast<std::ptrdiff_t>(from), windows.begin() + static_cast<std::ptrdiff_t>(from) + 1,
                  windows.end() - any(0, static_cast<int>(windows.size() - from) - 1));
      windows.push_back(windows[from]);
    }
  }
  int any(int from, int to) { return from + static_cast<int>(random() % static_cast<unsigned>(to - from + 1)); }

  void write(TestStore &store) {
    std::optional<Writer> writer;
    int64_t now_ns = kT0 + kHour;
    for (size_t next = 0; next < windows.size();) {
      if (!writer || any(0, 30) == 0) writer.reset(), writer.emplace(Options{store.path, {}, false}, store.names());
      Samples samples(store.symbols);
      for (int i = any(1, 60); i > 0 && next < windows.size(); --i, ++next) {
        const Window &window = windows[next];
        samples.metrics(kT0 + window.end * kSecond, {{"host", window.host}, {"pid", std::to_string(any(1, 3))}},
                        window.length * kSecond);
        samples.real(window.family + ".value", 1);
      }
      writer->write(samples.span(), now_ns += kSecond);
      if (any(0, 5) == 0) writer->maintain(now_ns);
    }
  }

  std::mt19937 random;
  std::vector<Window> windows;
  std::map<std::pair<std::string, std::string>, std::set<int>> collected;  // seconds: s is (s - 1, s]
};

TEST_CASE("law: coverage: the store knows each second of collection, in any order of arrival") {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    TestStore store;
    Arrivals arrivals(seed);
    arrivals.write(store);
    const Collection collection(SqliteStore(store.path).collected({}));
    for (int i = 0; i < 40; ++i) {
      const int from = arrivals.any(0, 4000), to = from + arrivals.any(1, 2000);
      CAPTURE(from);
      CAPTURE(to);
      for (const auto &[key, seconds] : arrivals.collected) {
        const auto right = std::distance(seconds.upper_bound(from), seconds.upper_bound(to));
        CHECK(collection.collected_time_of(key.first, key.second).length_in(kT0 + from * kSecond, kT0 + to * kSecond) ==
              right * kSecond);
      }
    }
  }
}

void put(Writer &writer, TestStore &store, const std::string &family, int end, int length = 10) {
  Samples samples(store.symbols);
  samples.metrics(kT0 + end * kSecond, {{"host", "h"}}, length * kSecond).real(family + ".value", 1);
  writer.write(samples.span(), kT0 + end * kSecond);
}

int64_t seconds_of(const TestStore &store, const std::string &family) {
  const Collection collection(SqliteStore(store.path).collected({}));
  return collection.collected_time_of("h", family).length_in(kT0, kT0 + 1000 * kSecond) / kSecond;
}

TEST_CASE("law: coverage: a window without a sample of a family was collected, if the host was") {
  TestStore store;
  Writer writer = store.writer();
  for (int end = 10; end <= 100; end += 10) put(writer, store, "sys", end);
  for (const int end : {20, 30, 90}) put(writer, store, "proc", end);
  CHECK(seconds_of(store, "sys") == 100);
  CHECK(seconds_of(store, "proc") == 80);  // from 10 to 90
}

TEST_CASE("law: coverage: a pipeline that stopped and began again was not collected between, though its host was") {
  TestStore store;
  Writer writer = store.writer();
  for (int end = 10; end <= 100; end += 10) put(writer, store, "sys", end);
  put(writer, store, "proc", 20);
  put(writer, store, "proc", 75, 0);  // the first reading of a start
  put(writer, store, "proc", 90);
  CHECK(seconds_of(store, "proc") == 20);
}

TEST_CASE("of things that come and go, the time without one was collected") {
  TestStore store;
  Writer writer = store.writer();
  for (int end = 10; end <= 100; end += 10) put(writer, store, "sys", end);
  put(writer, store, "jvm", 50);
  CHECK(seconds_of(store, "jvm") == 100);
}

TEST_CASE("a batch that was not stored was not collected") {
  TestStore store;
  Writer writer = store.writer();
  put(writer, store, "sys", 10);
  Database(store.path, Access::read_write)
      .execute("CREATE TRIGGER no_more BEFORE INSERT ON windows BEGIN SELECT raise(ABORT, 'no'); END");
  CHECK_THROWS_AS(put(writer, store, "sys", 20), Error);
  CHECK(seconds_of(store, "sys") == 10);
  Database(store.path, Access::read_write).execute("DROP TRIGGER no_more");
  put(writer, store, "sys", 20);
  CHECK(seconds_of(store, "sys") == 20);
}

TEST_CASE("a store of an older program counts as collected while its entities had samples") {
  TestStore store;
  {
    Writer writer = store.writer();
    for (int end = 10; end <= 100; end += 10) put(writer, store, "sys", end);
  }
  Database(store.path, Access::read_write).execute("DROP TABLE collected");
  CHECK(seconds_of(store, "sys") == 90);  // from the first sample to the last one
  { Writer writer = store.writer(); }
  CHECK(seconds_of(store, "sys") == 90);
}

TEST_CASE("a repaired store keeps the times of collection") {
  TestStore store;
  {
    Writer writer = store.writer();
    put(writer, store, "sys", 10);
    put(writer, store, "sys", 50);
  }
  repair(store.path);
  CHECK(seconds_of(store, "sys") == 20);
}

// Of n windows in any order, uniting may cost c * n * log(n) comparisons: a sender decides how many there are.
TEST_CASE("windows and instants that do not meet cost no more than sorting them") {
  constexpr int kCount = 100'000;
  for (const bool are_instants : {false, true}) {
    for (const int step : {1, -1, 7919}) {  // in order, backward, mixed
      CAPTURE(are_instants);
      CAPTURE(step);
      CollectedRows rows("h1", "proc");
      for (int64_t i = 0; i < kCount; ++i) {
        const int64_t number = (step < 0 ? kCount - 1 - i : i * step % kCount);
        rows.add(kT0 + number * 2'000'000, 1'000'000);                                  // 1 ms of each 2 ms
        if (are_instants) rows.add(kT0 + number * 2'000'000 + 500'000 - 1'000'000, 0);  // within it, so that none meets another
      }
      CHECK(rows.windows().size() == kCount);
      CHECK(rows.instants().size() == (are_instants ? kCount : 0));
      CHECK(rows.comparisons() < uint64_t{kCount} * 17 * 6);
      const Collection all([&] {
        std::vector<CollectedRow> both = rows.windows();
        both.insert(both.end(), rows.instants().begin(), rows.instants().end());
        return both;
      }());
      CHECK(all.collected_time_of("h1", "proc").length_in(kT0 - kHour, kT0 + kHour) == int64_t{kCount} * 1'000'000);
    }
  }
}

}  // namespace
}  // namespace atalaya::store::test
