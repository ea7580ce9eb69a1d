// SPDX-License-Identifier: Apache-2.0
// Responses of the interface of the store, for every engine.
#include "tests/unit/store/engines/engines.h"

#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <stdexcept>

namespace atalaya::store::test {
namespace {

using Lines = std::vector<std::string>;

std::string text_of(const Tags &tags) {
  std::string text;
  for (const auto &[key, value] : tags) {
    if (!text.empty()) text += ' ';
    text.append(key).append("=").append(value);
  }
  return text;
}

Lines lines_of(const std::vector<Series> &series) {
  Lines lines;
  lines.reserve(series.size());
  for (const Series &one : series) lines.push_back(one.metric + " " + text_of(one.tags));
  return lines;
}

void write_hosts(Engine &engine, StoreWriter &writer) {
  auto samples = engine.samples();
  for (const std::string host : {"ant", "bee"}) {
    samples.metrics(kNow, {{"host", host}, {"core", "0"}}).real("sys.cpu.user", 1).real("sys.cpu.idle", 99);
    samples.metrics(kNow, {{"host", host}, {"process", "java"}, {"pid", "7"}}).real("proc.cpu.user", 2);
    samples.metrics(kNow, {{"host", host}, {"process", "javac"}, {"pid", "007"}}).real("proc.cpu.user", 3).count("proc.threads", 4);
  }
  writer.write(samples.span(), kNow);
}

// One series of these metrics.
Selection of_metric(std::string metric, Range range = {}) {
  return {{std::move(metric)}, {}, range};
}

TEST_CASE_TEMPLATE("metrics are stored with their declarations; the first one wins", Tested, Sqlite, ClickHouse) {
  SKIP_WHERE_MISSING(Tested)
  Tested engine;
  engine.declared.add("x.sent", ATALAYA_DELTA, "By", "Sent bytes").add("x.queue", ATALAYA_GAUGE, "MiBy", "It's \"queued\"", 2);
  const auto write = [&](int64_t now_ns) {
    auto samples = engine.samples();
    samples.metrics(now_ns, {{"host", "ant"}}).count("x.sent", 1).real("x.queue", 2).real("x.foreign.bytes", 3).real("x.late", 4);
    engine.writer()->write(samples.span(), now_ns);
  };
  write(kNow);
  engine.declared.add("x.late", ATALAYA_TOTAL, "1").add("x.sent", ATALAYA_GAUGE, "1");
  write(kNow + kHour);
  const auto reader = engine.open();
  const Catalogue catalogue = reader->catalogue();
  REQUIRE(catalogue.size() == 4);
  CHECK(catalogue.at("x.sent")->kind == Kind::delta);
  CHECK(catalogue.at("x.sent")->unit == "By");
  CHECK(catalogue.at("x.sent")->decimals == -1);
  CHECK(catalogue.at("x.queue")->summary == "It's \"queued\"");
  CHECK(catalogue.at("x.queue")->decimals == 2);
  CHECK(catalogue.at("x.late")->kind == Kind::total);
  CHECK(catalogue.at("x.foreign.bytes")->kind == Kind::unknown);
  CHECK(catalogue.at("x.foreign.bytes")->unit.empty());
  for (const Series &series : reader->series({}, SIZE_MAX)) CHECK(series.kind() == catalogue.at(series.metric)->kind);
}

TEST_CASE_TEMPLATE("the extent is from the oldest to the newest sample of those up to a time", Tested, Sqlite, ClickHouse) {
  SKIP_WHERE_MISSING(Tested)
  Tested engine;
  const auto writer = engine.writer();
  CHECK(!engine.open()->extent(kNow + kDay));
  std::mt19937 random(1);
  std::set<int64_t> times;
  for (int i = 0; i < 30; ++i) {
    const int64_t time_ns = kNow - static_cast<int64_t>(random() % 200) * kHour;
    auto samples = engine.samples();
    samples.metrics(time_ns, {{"host", "ant"}}).real("x", i);
    writer->write(samples.span(), kNow);
    times.insert(time_ns);
  }
  const auto reader = engine.open();
  for (const int64_t until : {kNow + kDay, *times.rbegin(), kNow - 50 * kHour, kNow - 100 * kHour, *times.begin()}) {
    CAPTURE(until);
    const auto extent = reader->extent(until);
    REQUIRE(extent);
    CHECK(extent->from_ns == *times.begin() - 1);
    CHECK(extent->to_ns == *std::prev(times.upper_bound(until)));
  }
  CHECK(!reader->extent(*times.begin() - 1));
}

TEST_CASE("the extent is that of the points, where those of whole days were deleted and their series were not") {
  SKIP_WHERE_MISSING(ClickHouse)
  ClickHouse engine;
  const auto writer = engine.writer();
  const auto write = [&](std::initializer_list<int> days) {
    for (const int day : days) {
      auto samples = engine.samples();
      samples.metrics(kNow - day * kDay, {{"host", "ant"}}).real("x", 1);
      writer->write(samples.span(), kNow);
    }
  };
  write({0, 1, 2, 3, 4, 5, 6, 7});
  engine.execute("TRUNCATE TABLE points");
  write({3, 4});
  const auto extent = engine.open()->extent(kNow + kDay);
  REQUIRE(extent);
  CHECK(extent->from_ns == kNow - 4 * kDay - 1);
  CHECK(extent->to_ns == kNow - 3 * kDay);
}

TEST_CASE_TEMPLATE("series are listed by metric and tags, in the matchers' grammar", Tested, Sqlite, ClickHouse) {
  SKIP_WHERE_MISSING(Tested)
  Tested engine;
  write_hosts(engine, *engine.writer());
  const auto reader = engine.open();
  const auto find = [&](std::vector<std::string> metrics, std::vector<TagFilter> tags = {}) {
    return lines_of(reader->series({std::move(metrics), std::move(tags), {}}, SIZE_MAX));
  };
  CHECK(find({"sys.cpu.*"}, {{"host", {"ant"}}}) == Lines{"sys.cpu.idle core=0 host=ant", "sys.cpu.user core=0 host=ant"});
  CHECK(find({"proc.cpu.user"}, {{"process", {"java"}}}) ==
        Lines{"proc.cpu.user host=ant pid=7 process=java", "proc.cpu.user host=bee pid=7 process=java"});
  CHECK(find({"proc.cpu.user"}, {{"process", {"java", "javac"}}, {"host", {"!ant"}}}).size() == 2);
  CHECK(find({"proc.cpu.user"}, {{"process", {"~^java.$"}}, {"host", {"b*"}}}) ==
        Lines{"proc.cpu.user host=bee pid=007 process=javac"});
  CHECK(find({"proc.cpu.user"}, {{"pid", {"007"}}}).size() == 2);
  CHECK(find({"!proc.*", "!sys.cpu.idle"}) == Lines{"sys.cpu.user core=0 host=ant", "sys.cpu.user core=0 host=bee"});
  CHECK(find({"proc.*"}, {{"core", {"*"}}}).empty());
  CHECK(find({}, {{"core", {"!1"}}}).size() == 10);
  CHECK(find({"none"}).empty());
  CHECK(reader->series({}, 3).size() == 3);
  CHECK(reader->series({}, 0).empty());
  CHECK_THROWS_WITH_AS(find({"["}), "pattern \"[\": [ is not closed or contains a descending range; write \\[ for the character",
                       Error);
}

TEST_CASE_TEMPLATE("names and values are listed", Tested, Sqlite, ClickHouse) {
  SKIP_WHERE_MISSING(Tested)
  Tested engine;
  write_hosts(engine, *engine.writer());
  const auto reader = engine.open();
  CHECK(reader->metrics() == Lines{"proc.cpu.user", "proc.threads", "sys.cpu.idle", "sys.cpu.user"});
  CHECK(reader->tag_keys() == Lines{"core", "host", "pid", "process"});
  CHECK(reader->tag_values("host") == Lines{"ant", "bee"});
  CHECK(reader->tag_values("core") == Lines{"0"});
  CHECK(reader->tag_values("none").empty());
}

TEST_CASE_TEMPLATE("a series whose entity is silent for days is not listed", Tested, Sqlite, ClickHouse) {
  SKIP_WHERE_MISSING(Tested)
  Tested engine;
  write_hosts(engine, *engine.writer());
  const auto reader = engine.open();
  CHECK(reader->series({{}, {}, {kNow - 1, kNow}}, SIZE_MAX).size() == 10);
  CHECK(reader->series({{}, {}, {kNow - 3 * kDay, kNow - kDay}}, SIZE_MAX).empty());
  CHECK(reader->series({{}, {}, {kNow + kDay, kNow + 2 * kDay}}, SIZE_MAX).empty());
}

TEST_CASE_TEMPLATE("points come in order of time, with their exact type, and of the range only", Tested, Sqlite, ClickHouse) {
  SKIP_WHERE_MISSING(Tested)
  Tested engine;
  const auto writer = engine.writer();
  for (const int64_t second : {5, 1, 3, 2, 4}) {
    auto samples = engine.samples();
    samples.metrics(kNow + second * kSecond, {{"host", "ant"}})
        .real("a", static_cast<double>(second) / 10)
        .count("b", (int64_t{1} << 60) + second);
    writer->write(samples.span(), kNow);
  }
  const auto all = engine.scan(of_metric("a", {kNow + kSecond, kNow + 3 * kSecond}));
  REQUIRE(all.size() == 1);
  CHECK(all.front() == std::vector<Point>{{kNow + 2 * kSecond, kSecond, 0.2, {}}, {kNow + 3 * kSecond, kSecond, 0.3, {}}});
  const auto counts = engine.scan(of_metric("b")).at(0);
  REQUIRE(counts.size() == 5);
  CHECK(counts.back().count == (int64_t{1} << 60) + 5);
}

TEST_CASE_TEMPLATE("numbers come back exactly", Tested, Sqlite, ClickHouse) {
  SKIP_WHERE_MISSING(Tested)
  Tested engine;
  const std::vector<double> reals = {0.1, -0.0, 1e22, 123456.78, 1.0 / 3, 2e-308};
  auto samples = engine.samples();
  for (size_t i = 0; i < reals.size(); ++i) samples.metrics(kNow + static_cast<int64_t>(i), {{"host", "ant"}}).real("x", reals[i]);
  samples.metrics(kNow, {{"host", "bee"}})
      .count("least", std::numeric_limits<int64_t>::min())
      .count("most", std::numeric_limits<int64_t>::max());
  engine.writer()->write(samples.span(), kNow);
  const auto points = engine.scan(of_metric("x")).at(0);
  REQUIRE(points.size() == reals.size());
  for (size_t i = 0; i < reals.size(); ++i) CHECK(std::bit_cast<int64_t>(points[i].value) == std::bit_cast<int64_t>(reals[i]));
  CHECK(engine.scan(of_metric("least")).at(0).at(0).count == std::numeric_limits<int64_t>::min());
  CHECK(engine.scan(of_metric("most")).at(0).at(0).count == std::numeric_limits<int64_t>::max());
}

TEST_CASE_TEMPLATE("of the same series at the same time the last one wins", Tested, Sqlite, ClickHouse) {
  SKIP_WHERE_MISSING(Tested)
  Tested engine;
  const auto writer = engine.writer();
  const auto write = [&](int64_t duration_ns, std::string_view metric, double value) {
    auto samples = engine.samples();
    samples.metrics(kNow, {{"host", "ant"}}, duration_ns).real(metric, value);
    writer->write(samples.span(), kNow);
  };
  const auto write_core = [&](Pairs tags, double value) {
    auto samples = engine.samples();
    samples.metrics(kNow + 1, tags).real("c", value);
    writer->write(samples.span(), kNow);
  };
  write(kSecond, "a", 1);
  write(kSecond, "b", 2);
  int64_t duration_ns = kSecond;
  SUBCASE("written again") {
    write(kSecond, "a", 10);
  }
  SUBCASE("for another length of the window") {
    duration_ns = 5 * kSecond;
    write(duration_ns, "a", 10);
  }
  SUBCASE("twice in one sample") {
    auto samples = engine.samples();
    samples.metrics(kNow, {{"host", "ant"}}).real("a", 3).real("a", 10);
    writer->write(samples.span(), kNow);
  }
  SUBCASE("with the tags in another order") {
    write_core({{"host", "ant"}, {"core", "1"}}, 3);
    write_core({{"core", "1"}, {"host", "ant"}}, 4);
    CHECK(engine.scan(of_metric("c")).at(0).at(0).value == 4);
    write(kSecond, "a", 10);
  }
  CHECK(engine.scan(of_metric("a")) == std::vector<std::vector<Point>>{{{kNow, duration_ns, 10, {}}}});
  CHECK(engine.scan(of_metric("b")) == std::vector<std::vector<Point>>{{{kNow, kSecond, 2, {}}}});
}

TEST_CASE_TEMPLATE("invalid numbers are left out and counted; the rest of the sample stays", Tested, Sqlite, ClickHouse) {
  SKIP_WHERE_MISSING(Tested)
  Tested engine;
  auto samples = engine.samples();
  samples.metrics(kNow, {{"host", "ant"}}).real("a", std::nan("")).real("b", 1);
  samples.metrics(kNow, {{"host", "bee"}}).real("a", std::numeric_limits<double>::infinity());
  samples.metrics(kNow, {{"host", "cat"}});
  samples.add(77, kNow, 0, {{"host", "dog"}}).real("a", 1);
  const Refused refused = engine.writer()->write(samples.span(), kNow);
  CHECK(refused.values == 2);
  CHECK(refused.samples == 3);
  CHECK(engine.scan({}) == std::vector<std::vector<Point>>{{{kNow, kSecond, 1, {}}}});
}

TEST_CASE_TEMPLATE("any byte may stand in a name and a tag, and readers get valid UTF-8", Tested, Sqlite, ClickHouse) {
  SKIP_WHERE_MISSING(Tested)
  Tested engine;
  auto samples = engine.samples();
  samples.metrics(kNow, {{"process", "a\xff"}, {"pid", "007"}, {"k\n", "\"\x01\xc3\xa9\xf0"}}).real("m\xfe", 1);
  engine.writer()->write(samples.span(), kNow);
  CHECK(lines_of(engine.open()->series({}, 9)) ==
        Lines{"m\xef\xbf\xbd k\n=\"\x01\xc3\xa9\xef\xbf\xbd pid=007 process=a\xef\xbf\xbd"});
}

TEST_CASE_TEMPLATE("an exception of a visitor ends the scan, and the store responds again", Tested, Sqlite, ClickHouse) {
  SKIP_WHERE_MISSING(Tested)
  struct Tired final : PointVisitor {
    void points(size_t, const Points &) override { throw std::runtime_error("enough"); }
  } tired;
  Tested engine;
  write_hosts(engine, *engine.writer());
  const auto reader = engine.open();
  const auto series = reader->series({}, SIZE_MAX);
  CHECK_THROWS_WITH(reader->scan(series, {}, tired), "enough");
  CHECK(scan(*reader, of_metric("proc.threads")).size() == 2);
}

// Adds up the points or summaries, for each series and step.
struct Sums final : PointVisitor {
  explicit Sums(Steps the_steps) : wanted(the_steps) {}
  std::optional<Steps> steps(size_t) const override { return wanted; }
  bool take(size_t series, const Summary &one) override {
    if (step_of(one.first_ns) != step_of(one.last_ns)) return false;
    ++summaries;
    add(series, one);
    return true;
  }
  void points(size_t series, const Points &points) override {
    for (size_t i = 0; i < points.times_ns.size(); ++i) {
      const double value = points.values[i];
      add(series, {1, points.times_ns[i], points.times_ns[i], value, value, value, value, value});
    }
  }
  int64_t step_of(int64_t time_ns) const {
    return wanted.length_ns == 0 ? 0 : (time_ns + wanted.length_ns - wanted.begin_ns) / wanted.length_ns;
  }
  void add(size_t series, const Summary &one) {
    const auto [place, is_new] = all.try_emplace({series, step_of(one.first_ns)}, one);
    if (is_new) return;
    Summary &sum = place->second;
    CHECK(one.first_ns > sum.last_ns);
    sum = {sum.count + one.count,      sum.first_ns, one.last_ns, sum.sum + one.sum, std::min(sum.min, one.min),
           std::max(sum.max, one.max), sum.first,    one.last};
  }
  Lines lines() const {
    Lines lines;
    lines.reserve(all.size());
    for (const auto &[key, one] : all) {
      std::string line = std::to_string(key.first) + ": " + std::to_string(one.count) + " from " +
                         std::to_string((one.first_ns - kNow) / kSecond) + " to " + std::to_string((one.last_ns - kNow) / kSecond);
      for (const double value : {one.sum, one.min, one.max, one.first, one.last})
        line += " " + std::to_string(static_cast<int>(value));
      lines.push_back(line);
    }
    return lines;
  }

  const Steps wanted;
  size_t summaries = 0;
  std::map<std::pair<size_t, int64_t>, Summary> all;
};

TEST_CASE_TEMPLATE("sums of steps are those of their points, each point in one step", Tested, Sqlite, ClickHouse) {
  SKIP_WHERE_MISSING(Tested)
  Tested engine;
  const auto writer = engine.writer();
  const auto write = [&](int64_t second, double value) {
    auto samples = engine.samples();
    samples.metrics(kNow + second * kSecond, {{"host", "ant"}}).real("a", value).count("b", static_cast<int64_t>(-value));
    writer->write(samples.span(), kNow);
  };
  for (int64_t second = 0; second <= 12; ++second) write(second, static_cast<double>(second % 7));
  write(3, 50);  // instead of 3
  const auto reader = engine.open();
  const auto series = reader->series({}, SIZE_MAX);
  const auto sums = [&](Steps steps) {
    Sums visitor(steps);
    reader->scan(series, {kNow, kNow + 11 * kSecond}, visitor);
    if (reader->name().starts_with("clickhouse:")) CHECK(visitor.summaries == visitor.all.size());  // no point came
    return visitor.lines();
  };
  // Ends of the steps belong to them: (0, 5], (5, 10], (10, 15].
  CHECK(sums({5 * kSecond, 1}) == Lines{"0: 5 from 1 to 5 62 1 50 1 5", "0: 5 from 6 to 10 12 0 6 6 3",
                                        "0: 1 from 11 to 11 4 4 4 4 4", "1: 5 from 1 to 5 -62 -50 -1 -1 -5",
                                        "1: 5 from 6 to 10 -12 -6 0 -6 -3", "1: 1 from 11 to 11 -4 -4 -4 -4 -4"});
  // Begins do: [0, 5), [5, 10), [10, 15).
  CHECK(sums({5 * kSecond, 0}) == Lines{"0: 4 from 1 to 4 57 1 50 1 4", "0: 5 from 5 to 9 14 0 6 5 2",
                                        "0: 2 from 10 to 11 7 3 4 3 4", "1: 4 from 1 to 4 -57 -50 -1 -1 -4",
                                        "1: 5 from 5 to 9 -14 -6 0 -5 -2", "1: 2 from 10 to 11 -7 -4 -3 -3 -4"});
  CHECK(sums({}) == Lines{"0: 11 from 1 to 11 78 0 50 1 4", "1: 11 from 1 to 11 -78 -50 0 -1 -4"});
}

}  // namespace
}  // namespace atalaya::store::test
