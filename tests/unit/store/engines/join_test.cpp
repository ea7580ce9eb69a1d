// SPDX-License-Identifier: Apache-2.0
// Small chunks that follow each other become one, without effect for readers.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/store/engines/fixture.h"

namespace atalaya::store::test {
namespace {

constexpr int64_t kStart = kNow - kNow % kDay;
constexpr int64_t kStep = 2 * kSecond;
constexpr int64_t kStretch = 600 * kSecond;
using Values = std::map<int64_t, double>;

// Some series of one metric, of which some are steady for a while.
class Series {
 public:
  Series(TestStore &store, const Limits &limits = {}) : store_(store), writer_(store.writer(limits)) {}

  void windows(int64_t begin, int64_t end) {
    for (int64_t window = begin + 1; window <= end; ++window) {
      const int64_t time_ns = kStart + window * kStep;
      auto samples = store_.samples();
      for (const std::string process : {"a", "b", "c"}) {
        if (process == "c" && window % 5 != 0) continue;
        if (process == "b" && window % 300 < 100) continue;
        const double value = process == "a" && window / 100 % 3 != 0 ? 0 : static_cast<double>(random_() % 100'000) / 100;
        samples.metrics(time_ns, {{"process", process}}, kStep).real("x", value);
        expected_[process][time_ns] = value;
      }
      writer_.write(samples.span(), time_ns);
    }
  }
  void put(int64_t time_ns, const std::string &process, double value) {
    writer_.write(store_.samples().metrics(time_ns, {{"process", process}}, kStep).real("x", value).span(), kNow);
    expected_[process][time_ns] = value;
  }
  void rest(int64_t now_ns = kStart + 3 * kDay) {
    for (int i = 0; i < 40; ++i) writer_.write({}, now_ns);
    while (writer_.maintain(now_ns)) {
    }
  }
  void check(Range range = {}) const {
    for (const auto &[process, all] : expected_) {
      Values found, wanted;
      for (const Point &point : store_.scan("x", "process", process, range)) {
        CHECK(found.emplace(point.time_ns, point.value).second);
        CHECK(point.duration_ns == kStep);
      }
      for (const auto &[time_ns, value] : all)
        if (time_ns > range.from_ns && time_ns <= range.to_ns) wanted[time_ns] = value;
      CHECK(found == wanted);
    }
  }
  const Values &expected(const std::string &process) const { return expected_.at(process); }

 private:
  TestStore &store_;
  Writer writer_;
  std::map<std::string, Values> expected_;
  std::mt19937 random_{70};
};

int64_t chunks_of(const TestStore &store, const char *process) {
  return store.number(
      ("SELECT count(*) FROM chunks WHERE entity = (SELECT id FROM entities WHERE process = '" + std::string(process) + "')")
          .c_str());
}
int64_t longest(const TestStore &store) {
  return store.number("SELECT max(last_ns - first_ns) FROM chunks");
}

TEST_CASE("chunks of ten minutes become fewer, and every point comes back") {
  TestStore store;
  Series series(store);
  series.windows(0, 300 * 14);  // 14 times ten minutes
  series.rest();
  CHECK(store.row_count() == 0);
  for (const char *process : {"a", "b", "c"}) CHECK(chunks_of(store, process) < 7);
  series.check();
  for (const int64_t first : {0, 1, 299, 300, 301, 2000})
    for (const int64_t length : {1, 2, 300, 301, 3000}) series.check({kStart + first * kStep, kStart + (first + length) * kStep});
}

// Ids count the chunks that were ever made.
int64_t made(const TestStore &store) {
  return store.number("SELECT seq FROM sqlite_sequence WHERE name = 'chunks'");
}

TEST_CASE("old chunks become one at once, instead of one after another") {
  constexpr int kStretches = 14;
  TestStore store;
  Series series(store);
  series.windows(0, 300 * kStretches);
  series.rest(kStart + kStretches * kStretch + kHour);
  const int64_t before = made(store);
  series.rest();
  CHECK(store.number("SELECT count(*) FROM chunks") < before / 2);
  CHECK(made(store) <= before + before / 4);
  series.check();
}

TEST_CASE("late points win over points in a joined chunk, and are joined in turn") {
  TestStore store;
  Series series(store);
  series.windows(0, 300 * 8);
  series.rest();
  REQUIRE(longest(store) > kStretch);
  for (const std::string process : {"a", "b", "c"}) {
    series.put(kStart + 7 * kStep, process, -1);         // may be there
    series.put(kStart + 1001 * kStep + 1, process, -2);  // in between
    series.put(kStart - 5 * kStep, process, -3);         // before all
  }
  series.check();
  series.rest(kStart + 5 * kDay);
  CHECK(store.row_count() == 0);
  CHECK(store.number("SELECT count(*) FROM chunks a JOIN chunks b ON a.entity = b.entity AND a.id < b.id "
                     "AND a.first_ns <= b.last_ns AND b.first_ns <= a.last_ns") == 0);
  series.check();
}

// The sums of ten minutes that a reader adds up from summaries and points.
struct Sums final : PointVisitor {
  bool take(size_t, const Summary &summary) override {
    if (place_of(summary.first_ns) != place_of(summary.last_ns)) return false;
    CHECK(summary.first_ns > last_ns);
    last_ns = summary.last_ns;
    add(summary.first_ns, summary.sum, summary.count);
    maximum = std::max(maximum, summary.max);
    taken += summary.count;
    return true;
  }
  void points(size_t, const Points &points) override {
    for (size_t i = 0; i < points.times_ns.size(); ++i) {
      CHECK(points.times_ns[i] > last_ns);
      last_ns = points.times_ns[i];
      add(last_ns, points.values[i], 1);
      maximum = std::max(maximum, points.values[i]);
    }
  }
  static int64_t place_of(int64_t time_ns) { return (time_ns - 1 - kStart) / kStretch; }
  void add(int64_t time_ns, double sum, int64_t count) {
    sums[place_of(time_ns)] += sum;
    counts[place_of(time_ns)] += count;
  }

  std::map<int64_t, double> sums;
  std::map<int64_t, int64_t> counts;
  double maximum = 0;
  int64_t last_ns = INT64_MIN, taken = 0;
};

TEST_CASE("sums of ten minutes are taken from summaries of blocks, and equal those of the points") {
  TestStore store;
  Series series(store);
  series.windows(0, 300 * 12);
  series.rest();
  REQUIRE(longest(store) > kStretch);
  SUBCASE("undisturbed") {}
  SUBCASE("with a late row beside") {
    series.put(kStart + 700 * kStep, "a", 123.5);
  }
  SqliteStore reader(store.path);
  // From the middle of a block to that of another.
  for (const Range range : {Range{kStart, kStart + kDay}, Range{kStart + 77 * kStep, kStart + 2000 * kStep}}) {
    const auto found = reader.series({{"x"}, {{"process", {"a"}}}, range}, 10);
    REQUIRE(found.size() == 1);
    Sums sums;
    reader.scan(found, range, sums);
    std::map<int64_t, double> wanted;
    std::map<int64_t, int64_t> counts;
    double maximum = 0;
    for (const auto &[time_ns, value] : series.expected("a")) {
      if (time_ns <= range.from_ns || time_ns > range.to_ns) continue;
      wanted[Sums::place_of(time_ns)] += value;
      ++counts[Sums::place_of(time_ns)];
      maximum = std::max(maximum, value);
    }
    REQUIRE(sums.sums.size() == wanted.size());
    for (const auto &[place, sum] : wanted) CHECK(sums.sums.at(place) == doctest::Approx(sum).epsilon(1e-9));
    CHECK(sums.counts == counts);
    CHECK(sums.maximum == maximum);
    CHECK(sums.taken > 0);
  }
}

TEST_CASE("chunks of a store that keeps data for a short time stay short") {
  TestStore store;
  Series series(store, {.retain_ns = 4 * kHour});
  series.windows(0, 300 * 12);
  series.rest(kStart + 2 * kHour + 100 * kStretch / 60);
  REQUIRE(store.number("SELECT count(*) FROM chunks") > 0);
  CHECK(longest(store) <= kHour / 2);
  series.check();
}

TEST_CASE("a damaged chunk is not joined, and its neighbours are readable") {
  TestStore store;
  {
    Series series(store);
    series.windows(0, 300 * 3);
    for (int i = 0; i < 3; ++i) series.rest(kStart + kHour);
  }
  REQUIRE(chunks_of(store, "c") >= 2);
  const int64_t bad = store.number("SELECT min(id) FROM chunks WHERE entity = (SELECT id FROM entities WHERE process = 'c')");
  Database(store.path, Access::read_write)
      .execute(("UPDATE chunks SET data = zeroblob(length(data)) WHERE id = " + std::to_string(bad)).c_str());
  const size_t before = store.scan("x", "process", "c").size();
  REQUIRE(before > 0);
  Writer writer = store.writer();
  for (int i = 0; i < 3; ++i)
    while (writer.maintain(kStart + 5 * kDay)) {
    }
  CHECK(store.number(("SELECT count(*) FROM chunks WHERE id = " + std::to_string(bad)).c_str()) == 1);
  CHECK(store.scan("x", "process", "c").size() == before);
}

}  // namespace
}  // namespace atalaya::store::test
