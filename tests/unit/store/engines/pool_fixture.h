// SPDX-License-Identifier: Apache-2.0
// A host whose processes mostly live for seconds, and all that a store must return of it.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "plugins/shared/store/sql/points_table.h"
#include "tests/unit/store/engines/rollup_fixture.h"

namespace atalaya::store::test {

class Host {
 public:
  explicit Host(TestStore &store, const Limits &limits = {}, uint32_t seed = 76) : store_(store), random_(seed) { reopen(limits); }

  void reopen(const Limits &limits, const Warn &warn = {}) {
    writer_.reset();
    const core::NameOf names = store_.names();
    writer_ = std::make_unique<Writer>(Options{store_.path, limits, false, warn}, names, store_.declared.metric_of(names));
  }
  Writer &writer() { return *writer_; }

  // Windows of a second. The process 0 lives all the time, the others for up to `longest` seconds.
  void run(uint64_t longest = 20) {
    std::map<int64_t, int64_t> ends;  // pid -> the last second
    for (int64_t second = 1; second <= kEnd; ++second) {
      if (random_() % 3 == 0) ends[next_pid_++] = second + static_cast<int64_t>(random_() % longest);
      auto samples = store_.samples();
      put(samples, second, 0);
      for (const auto &[pid, end] : ends) put(samples, second, pid);
      std::erase_if(ends, [&](const auto &one) { return one.second <= second; });
      writer_->write(samples.span(), kStart + second * kSecond);
    }
  }
  // Samples that come later: of times that are there, of others, and of metrics that are not.
  void late(int64_t now_ns, int number = 60) {
    for (int i = 0; i < number; ++i) {
      auto samples = store_.samples();
      const auto second = static_cast<int64_t>(1 + random_() % kEnd);
      put(samples, second, static_cast<int64_t>(random_() % static_cast<uint64_t>(next_pid_)));
      writer_->write(samples.span(), now_ns);
    }
  }
  void rest(int64_t now_ns) { settle(*writer_, now_ns); }

  // Value of each pid, metric and time.
  const auto &expected() const { return expected_; }

  void check() const {
    check_sql();
    check_scans({});
    check_scans({kStart + 100 * kSecond, kStart + 400 * kSecond});
  }

 private:
  static constexpr int64_t kEnd = 700;  // windows: more than one stretch

  void put(Samples &samples, int64_t second, int64_t pid) {
    const std::string name = "p" + std::to_string(pid), number = std::to_string(pid);
    const int64_t time_ns = kStart + second * kSecond;
    samples.metrics(time_ns, {{"process", name}, {"pid", number}});
    for (const std::string metric : {"a", "b", "c"}) {
      if (metric == "c" && random_() % 2 == 0) continue;
      const auto value = static_cast<int64_t>(metric == "a" ? second : random_() % 1000);
      samples.count(metric, value);
      expected_[{pid, metric, time_ns}] = value;
    }
  }
  void check_sql() const {
    Database database(store_.path, Access::read_only);
    REQUIRE(register_points(database.handle()));
    std::map<std::tuple<int64_t, std::string, int64_t>, int64_t> found;
    Statement(database, "SELECT pid, metric, time, value FROM points").each([&](const Row &row) {
      const int64_t time_ns = row.integer(2) * 1'000'000;
      CHECK(found.emplace(std::tuple(row.integer(0), std::string(row.text(1)), time_ns), row.integer(3)).second);
    });
    CHECK(found == expected_);
    const int64_t of_3 = database.number("SELECT count(*) FROM points WHERE process = 'p3' AND pid = 3 AND metric = 'a'");
    CHECK(of_3 == counts({}).at({3, "a"}));
  }
  // All processes in one scan, and some alone.
  void check_scans(const Range &range) const {
    SqliteStore reader(store_.path);
    for (const auto &[key, count] : counts(range))
      if (key.first % 20 == 0)
        check_points(key.first, key.second, store_.scan(key.second, "pid", std::to_string(key.first), range), count);
    for (const std::string metric : {"a", "b", "c"}) {
      const Selection selection{{metric}, {{"pid", {"*"}}}, range};
      const auto series = reader.series(selection, SIZE_MAX);
      const auto points = scan(reader, selection);
      auto left = counts(range);
      std::erase_if(left, [&](const auto &one) { return one.first.second != metric || one.second == 0; });
      for (size_t i = 0; i < series.size(); ++i) {
        const int64_t pid = std::stoll(series[i].tags.at("pid"));
        const auto found = left.extract({pid, metric});
        check_points(pid, metric, points[i], found ? found.mapped() : 0);
      }
      CHECK(left.empty());
    }
  }
  void check_points(int64_t pid, const std::string &metric, const std::vector<Point> &points, int64_t count) const {
    CHECK(static_cast<int64_t>(points.size()) == count);
    int64_t last_ns = INT64_MIN;
    for (const Point &point : points) {
      CHECK(point.time_ns > last_ns);
      last_ns = point.time_ns;
      CHECK(point.count == expected_.at({pid, metric, point.time_ns}));
      CHECK(point.duration_ns == kSecond);
    }
  }
  std::map<std::pair<int64_t, std::string>, int64_t> counts(const Range &range) const {
    std::map<std::pair<int64_t, std::string>, int64_t> all;
    for (const auto &[key, value] : expected_) {
      const auto &[pid, metric, time_ns] = key;
      all[{pid, metric}] += time_ns > range.from_ns && time_ns <= range.to_ns ? 1 : 0;
    }
    return all;
  }

  TestStore &store_;
  std::unique_ptr<Writer> writer_;
  std::mt19937 random_;
  int64_t next_pid_ = 1;
  std::map<std::tuple<int64_t, std::string, int64_t>, int64_t> expected_;
};

inline int64_t pools(const TestStore &store) {
  return store.number("SELECT count(*) FROM chunks WHERE entity < 0");
}

}  // namespace atalaya::store::test
