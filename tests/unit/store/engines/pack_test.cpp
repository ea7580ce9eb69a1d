// SPDX-License-Identifier: Apache-2.0
// Rows become chunks, without effect for readers.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tests/unit/store/engines/fixture.h"

namespace atalaya::store::test {
namespace {

constexpr int64_t kStart = kNow - kNow % kHour;  // a border of chunks
constexpr int64_t kMinute = 60 * kSecond;

const Limits kNotJoined{.max_joined_ns = 0};  // join_test.cpp has those

// The last written values: (metric, process) -> time -> value.
using Expected = std::map<std::pair<std::string, std::string>, std::map<int64_t, double>>;

// Enough batches that no range of time counts as being written to.
void make_idle(Writer &writer) {
  for (int i = 0; i < 40; ++i) writer.write({}, kNow);
}

class Writing {
 public:
  explicit Writing(TestStore &store) : store_(store) { again(); }

  void put(int64_t time_ns, const std::string &process, const std::string &metric, double value, int64_t duration_ns = kSecond) {
    auto samples = store_.samples();
    samples.metrics(time_ns, {{"host", "ant"}, {"process", process}}, duration_ns).real(metric, value);
    writer_->write(samples.span(), time_ns);
    expected_[{metric, process}][time_ns] = value;
  }
  // Windows of a second from the start on, with three processes and two metrics each.
  void windows(int64_t begin, int64_t end, bool maintain = true) {
    for (int64_t second = begin + 1; second <= end; ++second) {
      const int64_t time_ns = kStart + second * kSecond;
      auto samples = store_.samples();
      for (const std::string process : {"a", "b", "c"}) {
        if (process == "c" && second % 7 == 0) continue;  // a gap
        const auto value = static_cast<double>(random_() % 1000) / 10;
        samples.metrics(time_ns, {{"host", "ant"}, {"process", process}}).real("x", value).real("y", value / 3).count("n", second);
        expected_[{"x", process}][time_ns] = value;
        expected_[{"y", process}][time_ns] = value / 3;
        expected_[{"n", process}][time_ns] = static_cast<double>(second);
      }
      writer_->write(samples.span(), time_ns);
      if (maintain) writer_->maintain(time_ns);
    }
  }
  // Windows of a second of many processes, with gaps.
  void many(int64_t begin, int64_t end, int processes) {
    for (int64_t second = begin + 1; second <= end; ++second) {
      const int64_t time_ns = kStart + second * kSecond;
      auto samples = store_.samples();
      for (int i = 0; i < processes; ++i) {
        if (random_() % 10 == 0) continue;
        const std::string process = "m" + std::to_string(i);
        const auto value = static_cast<double>(random_() % 1000) / 10;
        samples.metrics(time_ns, {{"host", "ant"}, {"process", process}}).real("x", value).real("y", -value / 3).count("n", second);
        expected_[{"x", process}][time_ns] = value;
        expected_[{"y", process}][time_ns] = -value / 3;
        expected_[{"n", process}][time_ns] = static_cast<double>(second);
      }
      writer_->write(samples.span(), kNow);
    }
  }
  // One batch, out of order, of two processes for a number of seconds from the start on.
  void import(int64_t begin, int64_t end) {
    auto samples = store_.samples();
    std::vector<int64_t> seconds;
    for (int64_t second = begin; second < end; ++second) seconds.push_back(second);
    std::shuffle(seconds.begin(), seconds.end(), random_);
    for (const int64_t second : seconds)
      for (const std::string process : {"a", "import"}) {
        const int64_t time_ns = kStart + second * kSecond;
        const auto value = static_cast<double>(random_() % 1000) / 10;
        samples.metrics(time_ns, {{"host", "ant"}, {"process", process}}).real("x", value).count("m", second);
        expected_[{"x", process}][time_ns] = value;
        expected_[{"m", process}][time_ns] = static_cast<double>(second);
      }
    writer_->write(samples.span(), kNow);
  }
  // Nothing is written for a while; all that is whole is packed.
  void rest(int64_t second = 0) {
    for (int i = 0; i < 40; ++i) {
      auto samples = store_.samples();
      samples.metrics(kStart + 40 * kDay + second * kSecond + i, {{"host", "clock"}}).real("tick", 1);
      writer_->write(samples.span(), kNow);
    }
    while (writer_->maintain(kNow + kDay)) {
    }
  }
  void again() {
    writer_.reset();
    writer_ = std::make_unique<Writer>(Options{store_.path, kNotJoined, false}, store_.names());
  }
  Writer &writer() { return *writer_; }

  void check(Range range = {}) const {
    SqliteStore reader(store_.path);
    for (const auto &[key, points] : expected_) {
      std::map<int64_t, double> found, wanted;
      int64_t last_ns = INT64_MIN;
      for (const auto &series : scan(reader, {{key.first}, {{"process", {key.second}}}, range}))
        for (const Point &point : series) {
          CHECK(point.time_ns > last_ns);
          last_ns = point.time_ns;
          found[point.time_ns] = point.value;
        }
      for (const auto &[time_ns, value] : points)
        if (time_ns > range.from_ns && time_ns <= range.to_ns) wanted[time_ns] = value;
      CHECK(found == wanted);
    }
    check_extent(reader);
  }
  // All series of these metrics in one scan.
  void check_together(const std::vector<std::string> &metrics, const Range &range) const {
    SqliteStore reader(store_.path);
    const Selection selection{metrics, {{"process", {"*"}}}, range};
    const auto series = reader.series(selection, expected_.size());
    const auto all = scan(reader, selection);
    size_t points = 0;
    for (size_t i = 0; i < series.size(); ++i) {
      std::map<int64_t, double> wanted;
      for (const auto &[time_ns, value] : expected_.at({series[i].metric, series[i].tags.at("process")}))
        if (time_ns > range.from_ns && time_ns <= range.to_ns) wanted[time_ns] = value;
      std::vector<std::pair<int64_t, double>> found;
      for (const Point &point : all[i]) found.emplace_back(point.time_ns, point.value);
      CHECK(found == std::vector<std::pair<int64_t, double>>(wanted.begin(), wanted.end()));
      points += found.size();
    }
    size_t expected = 0;
    for (const auto &[key, values] : expected_)
      for (const auto &[time_ns, value] : values)
        if (std::find(metrics.begin(), metrics.end(), key.first) != metrics.end() && time_ns > range.from_ns &&
            time_ns <= range.to_ns)
          ++expected;
    CHECK(points == expected);
  }
  // All points in plain SQL, while nothing is packed. SQLite's numbers may differ from the stored ones in the last bit.
  void check_sql() const {
    using Rounded = std::map<std::tuple<std::string, std::string, int64_t>, long long>;
    Rounded found, wanted;
    Database database(store_.path, Access::read_only);
    Statement(database, "SELECT metric, process, time, value FROM points").each([&](const Row &row) {
      const auto [at, is_new] = found.try_emplace({std::string(row.text(0)), std::string(row.text(1)), row.integer(2) * 1'000'000},
                                                  std::llround(row.real(3) * 1e6));
      CHECK(is_new);
    });
    for (const auto &[key, points] : expected_)
      for (const auto &[time_ns, value] : points) wanted[{key.first, key.second, time_ns}] = std::llround(value * 1e6);
    CHECK(found == wanted);
  }
  // The series of `rest` is later.
  void check_extent(SqliteStore &reader) const {
    std::set<int64_t> times;
    for (const auto &[key, points] : expected_)
      for (const auto &[time_ns, value] : points) times.insert(time_ns);
    const auto extent = reader.extent(kStart + 39 * kDay);
    REQUIRE(extent.has_value() == !times.empty());
    if (times.empty()) return;
    CHECK(extent->from_ns == *times.begin() - 1);
    CHECK(extent->to_ns == *times.rbegin());
  }
  int64_t chunks() const { return store_.number("SELECT count(*) FROM chunks"); }
  int64_t rows(const char *where = "process IS NOT NULL") const {
    return store_.number(("SELECT count(*) FROM " + kSamplesOfRows + " JOIN entities ON id = entity WHERE " + where).c_str());
  }

 private:
  TestStore &store_;
  std::unique_ptr<Writer> writer_;
  Expected expected_;
  std::mt19937 random_{42};
};

TEST_CASE("rows become chunks while writing continues, and every point comes back") {
  TestStore store;
  Writing writing(store);
  writing.windows(0, 1500);
  CHECK(writing.chunks() > 0);
  CHECK(writing.rows() > 0);
  writing.check();
  writing.check({kStart + 100 * kSecond, kStart + 700 * kSecond});
  writing.check({kStart + 599 * kSecond, kStart + 600 * kSecond});
  writing.rest();
  CHECK(writing.rows() == 0);
  CHECK(store.number("SELECT count(*) FROM windows WHERE packed <> 0") == 0);
  writing.check();
}

TEST_CASE("a late point is added, and the last one wins over the point in a chunk") {
  TestStore store;
  Writing writing(store);
  writing.windows(0, 1200);
  writing.rest();
  REQUIRE(writing.rows() == 0);
  writing.put(kStart + 5 * kSecond, "a", "x", -1);               // the same window again
  writing.put(kStart + 6 * kSecond, "a", "x", -2, 5 * kSecond);  // a window of another length
  writing.put(kStart + 7 * kSecond + 1, "a", "x", -3);           // in between
  writing.put(kStart + 8 * kSecond, "a", "new", -4);             // a metric that was not there
  writing.put(kStart + 9 * kSecond, "late", "x", -5);            // an entity that was not there
  writing.put(kStart - 9 * kSecond, "a", "x", -6);               // before all
  SUBCASE("as rows next to chunks") {}
  SUBCASE("packed too") {
    writing.rest(1);
    CHECK(writing.rows() == 0);
  }
  SUBCASE("packed, and again") {
    writing.rest(1);
    writing.put(kStart + 5 * kSecond, "a", "x", -7);
    writing.rest(2);
    CHECK(writing.rows() == 0);
  }
  writing.check();
  writing.check({kStart + 4 * kSecond, kStart + 7 * kSecond});
}

TEST_CASE("a batch that writes to a range that is being packed is not lost") {
  TestStore store;
  Writing writing(store);
  writing.windows(0, 700, false);
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    writing.writer().maintain(kStart + kHour);
    if (random() % 3 == 0) writing.put(kStart + static_cast<int64_t>(random() % 600) * kSecond, "b", "x", i);
  }
  writing.rest();
  CHECK(writing.rows() == 0);
  writing.check();
}

// Rows are handed over in parts of some thousand points, where no chunk is near.
TEST_CASE("rows and chunks of many entities are read in one scan, each point once and in order") {
  TestStore store;
  Writing writing(store);
  writing.many(0, 40, 150);
  writing.rest();
  REQUIRE(writing.chunks() > 0);
  writing.many(30, 120, 150);  // ten seconds again, with other values
  for (const std::vector<std::string> &metrics : {std::vector<std::string>{"x", "y", "n"}, {"y"}, {"n", "x"}})
    for (const Range range :
         {Range{}, Range{kStart + 25 * kSecond, kStart + 100 * kSecond}, Range{kStart + 60 * kSecond, kStart + 61 * kSecond}})
      writing.check_together(metrics, range);
}

TEST_CASE("more points than are read at once are packed as they were written") {
  TestStore store;
  Writing writing(store);
  writing.many(0, 600, 200);
  writing.rest();
  CHECK(writing.rows() == 0);
  writing.check_together({"x", "y", "n"}, {});
}

TEST_CASE("rows of schema 8, some of them changed since, are read and packed like others") {
  TestStore store;
  Writing writing(store);
  writing.many(0, 60, 150);
  writing.check_sql();
  make_rows_old(store.path);
  writing.check_sql();
  writing.check();
  writing.many(40, 80, 150);
  writing.check_sql();
  writing.check();
  writing.rest();
  CHECK(writing.rows() == 0);
  writing.check();
}

TEST_CASE("packing that was cut off is done again") {
  TestStore store;
  Writing writing(store);
  writing.windows(0, 700, false);
  for (int steps = 0; steps < 40; ++steps) {
    writing.writer().maintain(kStart + kHour);
    if (steps % 3 == 0) writing.again();
    writing.check();
  }
  writing.rest();
  CHECK(writing.rows() == 0);
  CHECK(store.number("SELECT count(*) FROM unfinished") == 0);
  writing.check();
}

TEST_CASE("a step of packing that fails is done again, and every point is there once") {
  TestStore store;
  Writing writing(store);
  writing.windows(0, 1300, false);
  make_idle(writing.writer());
  const auto change = [&](const char *sql) { Database(store.path, Access::read_write).execute(sql); };
  change(
      "CREATE TRIGGER broken BEFORE INSERT ON chunks WHEN (SELECT count(*) FROM chunks) >= 2 "
      "BEGIN SELECT RAISE(ABORT, 'no more'); END");
  int failures = 0;
  for (int step = 0; step < 60; ++step) {
    try {
      writing.writer().maintain(kStart + kDay);
    } catch (const Error &) {
      ++failures;
    }
  }
  CHECK(failures > 1);  // it began again each time
  writing.check();
  change("DROP TRIGGER broken");
  writing.rest();
  CHECK(writing.rows() == 0);
  CHECK(store.number("SELECT count(*) FROM unfinished") == 0);
  writing.again();
  writing.check();
}

TEST_CASE("a window with a damaged row is not packed, and that is reported once") {
  TestStore store;
  std::vector<std::string> warnings;
  Writer writer({store.path, {}, false, [&](const std::string &text) { warnings.push_back(text); }}, store.names());
  for (int64_t second = 1; second <= 700; ++second) {
    auto samples = store.samples();
    for (const std::string process : {"a", "b"})
      samples.metrics(kStart + second * kSecond, {{"process", process}}).count("x", second).count("y", second);
    writer.write(samples.span(), kNow);
  }
  Database(store.path, Access::read_write)
      .execute("UPDATE samples SET fields = replace(fields, ']]]', '!]]]') WHERE window IN (50, 60)");
  make_idle(writer);
  while (writer.maintain(kStart + 2 * kDay)) {
  }
  CHECK(store.sql("SELECT window FROM samples ORDER BY 1") == std::vector<std::string>{"50", "60"});
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("a row of the window 50 in the table samples of database " + store.path) == 0);
  CHECK(store.scan("y", "process", "a").size() == 700);
}

TEST_CASE("late points are merged with the chunks that hold their times, the others stay") {
  TestStore store;
  Writing writing(store);
  writing.windows(0, 6000);
  writing.rest();
  const auto chunks = [&] {
    const auto all = store.sql("SELECT id FROM chunks");
    return std::set<std::string>(all.begin(), all.end());
  };
  const auto before = chunks();
  REQUIRE(before.size() == 30);
  for (const std::string process : {"a", "b", "c"})
    for (const int64_t second : {5, 5990}) writing.put(kStart + second * kSecond, process, "x", -1);
  writing.put(kStart + 3000 * kSecond + 1, "b", "x", -2);
  make_idle(writing.writer());
  while (writing.writer().maintain(kNow + 41 * kDay)) {
  }
  CHECK(writing.rows() == 0);
  size_t kept = 0;
  for (const std::string &chunk : chunks()) kept += before.count(chunk);
  CHECK(kept >= before.size() - 7);
  CHECK(kept < before.size());
  CHECK(store.number("SELECT count(*) FROM chunks a JOIN chunks b ON a.entity = b.entity AND a.id < b.id "
                     "AND a.first_ns <= b.last_ns AND b.first_ns <= a.last_ns") == 0);
  writing.check();
}

TEST_CASE("points that arrived in the last ten minutes stay as rows, whatever their time") {
  TestStore store;
  Writer writer = store.writer();
  for (int64_t second = 1; second <= 700; ++second) {
    auto samples = store.samples();
    samples.metrics(kStart - 300 * kDay + second * kSecond, {{"host", "ant"}}).real("a", 1);
    writer.write(samples.span(), kNow);
  }
  make_idle(writer);
  const auto rows_after = [&](int64_t waited_ns) {
    while (writer.maintain(kNow + waited_ns)) {
    }
    return store.point_count();
  };
  CHECK(rows_after(9 * kMinute) == 700);
  CHECK(rows_after(10 * kMinute) == 0);
}

TEST_CASE("an import becomes chunks at once, merged with the stored points") {
  TestStore store;
  Writing writing(store);
  SUBCASE("into an empty store") {}
  SUBCASE("over chunks") {
    writing.windows(0, 1200);
    writing.rest();
  }
  SUBCASE("over rows, which stay rows") {
    writing.windows(0, 100, false);
  }
  SUBCASE("while others are being packed") {
    writing.windows(-700, 0, false);
    make_idle(writing.writer());
    for (int i = 0; i < 3; ++i) writing.writer().maintain(kStart + kHour);
    CHECK(store.number("SELECT count(*) FROM unfinished") == 1);
  }
  writing.import(300, 2000);
  writing.check();
  writing.import(100, 3000);
  writing.check();
  writing.rest();
  CHECK(writing.rows() == 0);
  CHECK(store.number("SELECT count(*) FROM unfinished") == 0);
  writing.check();
}

TEST_CASE("an import that fails leaves nothing, and does not hinder packing") {
  TestStore store;
  bool fails = false, is_short_of_memory = false;
  SUBCASE("for any reason") {}
  SUBCASE("for want of memory") {
    is_short_of_memory = true;
  }
  Writer writer({store.path, kNotJoined, false}, [&](uint32_t id) {
    if (fails && is_short_of_memory) throw std::bad_alloc();
    if (fails) throw Error(Cause::retry, "the names are gone");
    return store.symbols.name(id);
  });
  const auto write = [&](int64_t begin, int64_t end, std::string_view metric) {
    auto samples = store.samples();
    for (int64_t second = begin; second < end; ++second)
      samples.metrics(kStart + second * kSecond, {{"host", "ant"}}).real("x", static_cast<double>(second)).real(metric, 1);
    writer.write(samples.span(), kNow);
  };
  for (int64_t second = 1; second <= 700; ++second) write(second, second + 1, "y");
  make_idle(writer);
  for (int i = 0; i < 2; ++i) writer.maintain(kStart + kHour);
  CHECK(store.number("SELECT count(*) FROM unfinished") == 1);
  const size_t before = store.scan("x", "host", "ant").size();
  fails = true;
  CHECK_THROWS(write(2000, 6000, "a metric that is not known yet"));
  fails = false;
  CHECK(store.scan("x", "host", "ant").size() == before);
  make_idle(writer);
  while (writer.maintain(kNow + 2 * kDay)) {
  }
  CHECK(store.row_count() == 0);
  CHECK(store.number("SELECT count(*) FROM chunks") == 2);
  CHECK(store.scan("x", "host", "ant").size() == before);
}

TEST_CASE("an import that is no import is as any batch: few samples of many entities, values that are none, stacks") {
  TestStore store;
  Writer writer = store.writer();
  auto samples = store.samples();
  for (int i = 0; i < 3000; ++i) samples.metrics(kStart + i, {{"pid", std::to_string(i % 100)}}).real("a", i);
  for (int i = 0; i < 400; ++i)
    samples.metrics(kStart + i, {{"pid", "many"}}).real("a", i % 4 == 0 ? 0.0 / 0.0 : i).real("a", i + 0.5);
  samples.metrics(kStart, {{"pid", "many"}}).real("a", 1.0 / 0.0);
  samples.metrics(kStart, {{"pid", "many"}});
  samples.add(ATALAYA_STACK, kStart, kSecond, {{"pid", "1"}}, "main").count("profile.samples", 1);
  const Refused refused = writer.write(samples.span(), kNow);
  CHECK(refused.samples == 2);
  CHECK(refused.values == 101);
  CHECK(store.row_count() == 3000);
  CHECK(store.number("SELECT count(*) FROM chunks") == 1);
  const auto points = store.scan("a", "pid", "many");
  REQUIRE(points.size() == 400);
  CHECK(points.back().value == 399.5);
}

TEST_CASE("a step of packing reads a bounded number of rows") {
  TestStore store;
  Writer writer = store.writer();
  for (int64_t second = 1; second <= 400; ++second) {
    auto samples = store.samples();
    for (int i = 0; i < 50; ++i) samples.metrics(kStart + second * kSecond, {{"pid", std::to_string(i)}}).real("a", i);
    writer.write(samples.span(), kNow);
  }
  make_idle(writer);
  int steps = 1;
  while (writer.maintain(kStart + kDay)) ++steps;
  // 20,000 rows, two units of work each, 512 units a step.
  CHECK(steps > 40'000 / 512 / 2);
  CHECK(store.row_count() == 0);
}

TEST_CASE("packing costs as much a sample when every sender has its own windows") {
  TestStore store;
  Writer writer = store.writer(kNotJoined);
  constexpr int64_t kWindows = 1500, kEntities = 10;
  for (int64_t window = 1; window <= kWindows; ++window) {
    auto samples = store.samples();
    for (int64_t i = 0; i < kEntities; ++i) {
      samples.metrics(kStart + window * kSecond / 3, {{"pid", std::to_string(window * kEntities + i)}});
      for (int field = 0; field < 30; ++field) samples.real("field" + std::to_string(field), 0.5);
    }
    writer.write(samples.span(), kNow);
  }
  make_idle(writer);
  int64_t steps = 1;
  while (writer.maintain(kStart + kDay)) ++steps;
  CHECK(steps * 512 < kWindows * kEntities * 4);  // a writer's step for each incoming sample
  CHECK(store.row_count() == 0);
  CHECK(store.scan("field7", "pid", "12345").size() == 1);
}

TEST_CASE("a summary replaces a chunk that is completely in the range and has no rows next to it") {
  struct Sums final : PointVisitor {
    int64_t summaries = 0, count = 0;
    double sum = 0;
    bool take(size_t, const Summary &summary) override {
      ++summaries;
      count += summary.count;
      sum += summary.sum;
      return true;
    }
    void points(size_t, const Points &points) override {
      count += static_cast<int64_t>(points.values.size());
      for (const double value : points.values) sum += value;
    }
  };
  TestStore store;
  Writing writing(store);
  writing.windows(0, 1800);
  writing.rest();
  SqliteStore reader(store.path);
  const auto series = reader.series({{"n"}, {{"process", {"a"}}}, {}}, SIZE_MAX);
  const auto sums = [&](const Range &range) {
    Sums result;
    reader.scan(series, range, result);
    return result;
  };
  const Sums all = sums({kStart, kStart + 1800 * kSecond});
  CHECK(all.summaries == 3);
  CHECK(all.count == 1800);
  CHECK(all.sum == 1800 * 1801 / 2);
  const Sums some = sums({kStart + 300 * kSecond, kStart + 1500 * kSecond});
  CHECK(some.summaries == 1);
  CHECK(some.count == 1200);
  writing.put(kStart + 700 * kSecond, "a", "n", 0);
  const Sums late = sums({kStart, kStart + 1800 * kSecond});
  CHECK(late.summaries == 2);
  CHECK(late.count == 1800);
  CHECK(late.sum == 1800 * 1801 / 2 - 700);
}

TEST_CASE("chunks go with their arrival, as rows do, and entities with them") {
  TestStore store;
  Writer writer = store.writer({.retain_ns = kDay});
  const auto write = [&](int64_t time_ns, int64_t arrived_ns, const std::string &process) {
    auto samples = store.samples();
    samples.metrics(time_ns, {{"process", process}}).real("a", 1);
    writer.write(samples.span(), arrived_ns);
    while (writer.maintain(arrived_ns)) {
    }
  };
  for (int64_t i = 0; i < 1300; ++i) write(kStart + i * kSecond, kStart + i * kSecond, "old");
  CHECK(store.number("SELECT count(*) FROM chunks") > 0);
  write(kStart + kDay, kStart + kDay, "new");
  CHECK(store.number("SELECT count(*) FROM chunks") > 0);
  write(kStart + kDay + 3 * kHour, kStart + kDay + 3 * kHour, "new");
  CHECK(store.number("SELECT count(*) FROM chunks") == 0);
  CHECK(store.sql("SELECT process FROM entities") == std::vector<std::string>{"new"});
  CHECK(store.number("SELECT count(*) FROM entity_shapes") == 1);
}

TEST_CASE("stacks stay where they are when the samples of their window are packed") {
  TestStore store;
  Writer writer = store.writer();
  const auto stack = [&](int64_t second, int64_t count) {
    auto samples = store.samples();
    samples.add(ATALAYA_STACK, kStart + second * kSecond, kSecond, {{"process", "a"}}, "main;run").count("profile.samples", count);
    samples.metrics(kStart + second * kSecond, {{"process", "a"}}).real("x", 1);
    writer.write(samples.span(), kNow);
  };
  for (int64_t second = 1; second <= 600; ++second) stack(second, second);
  make_idle(writer);
  while (writer.maintain(kStart + kDay)) {
  }
  CHECK(store.row_count() == 0);
  stack(5, 1000);  // delivered once more: the last one wins
  std::map<int64_t, int64_t> counts;
  SqliteStore(store.path).stacks({}, [&](const Stack &one) { counts[one.time_ns] += one.fields[0].count; });
  CHECK(counts.size() == 600);
  CHECK(counts[kStart + 5 * kSecond] == 1000);
  CHECK(counts[kStart + 6 * kSecond] == 6);
}

}  // namespace
}  // namespace atalaya::store::test
