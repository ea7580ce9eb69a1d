// SPDX-License-Identifier: Apache-2.0
// What the interface of the store answers, whatever lies below.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "plugins/store/location.h"
#include "tests/unit/store/fixture.h"

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
  for (const Series &one : series) lines.push_back(one.metric + " " + text_of(one.tags));
  return lines;
}

void write_hosts(TestStore &store, Writer &writer) {
  auto samples = store.samples();
  for (const std::string host : {"ant", "bee"}) {
    samples.metrics(kNow, {{"host", host}, {"core", "0"}}).real("sys.cpu.user", 1).real("sys.cpu.idle", 99);
    samples.metrics(kNow, {{"host", host}, {"process", "java"}, {"pid", "7"}}).real("proc.cpu.user", 2);
    samples.metrics(kNow, {{"host", host}, {"process", "javac"}, {"pid", "007"}}).real("proc.cpu.user", 3).count("proc.threads", 4);
  }
  writer.write(samples.span(), kNow);
}

TEST_CASE("series are listed by metric and tags, in the matchers' grammar") {
  TestStore store;
  Writer writer = store.writer();
  write_hosts(store, writer);
  SqliteStore reader(store.path);
  const auto find = [&](std::vector<std::string> metrics, std::vector<TagFilter> tags = {}) {
    return lines_of(reader.series({std::move(metrics), std::move(tags), {}}, SIZE_MAX));
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
  CHECK(reader.series({}, 3).size() == 3);
  CHECK_THROWS_WITH_AS(find({"["}), "pattern \"[\": [ is not closed or holds a range that runs backwards; write \\[ for itself",
                       Error);
}

TEST_CASE("names and values are listed") {
  TestStore store;
  Writer writer = store.writer();
  write_hosts(store, writer);
  SqliteStore reader(store.path);
  CHECK(reader.metrics() == Lines{"proc.cpu.user", "proc.threads", "sys.cpu.idle", "sys.cpu.user"});
  CHECK(reader.tag_keys() == Lines{"core", "host", "pid", "process"});
  CHECK(reader.tag_values("host") == Lines{"ant", "bee"});
  CHECK(reader.tag_values("core") == Lines{"0"});
  CHECK(reader.tag_values("none").empty());
}

TEST_CASE("a series whose entity is silent in the range is not listed") {
  TestStore store;
  Writer writer = store.writer();
  write_hosts(store, writer);
  SqliteStore reader(store.path);
  CHECK(reader.series({{}, {}, {kNow - 1, kNow}}, SIZE_MAX).size() == 10);
  CHECK(reader.series({{}, {}, {kNow - kDay, kNow - 1}}, SIZE_MAX).empty());
  CHECK(reader.series({{}, {}, {kNow + kDay, kNow + 2 * kDay}}, SIZE_MAX).empty());
}

TEST_CASE("points come in order of time, with their exact type, and of the range only") {
  TestStore store;
  Writer writer = store.writer();
  for (const int64_t second : {5, 1, 3, 2, 4}) {
    auto samples = store.samples();
    samples.metrics(kNow + second * kSecond, {{"host", "ant"}})
        .real("a", static_cast<double>(second) / 10)
        .count("b", (int64_t{1} << 60) + second);
    writer.write(samples.span(), kNow);
  }
  CHECK(store.scan("a", "host", "ant", {kNow + kSecond, kNow + 3 * kSecond}) ==
        std::vector<Point>{{kNow + 2 * kSecond, kSecond, 0.2, {}}, {kNow + 3 * kSecond, kSecond, 0.3, {}}});
  const auto counts = store.scan("b", "host", "ant");
  REQUIRE(counts.size() == 5);
  CHECK(counts.back().count == (int64_t{1} << 60) + 5);
}

TEST_CASE("what a visitor throws ends the scan, and the store answers again") {
  struct Tired final : PointVisitor {
    void points(size_t, const Points &) override { throw std::runtime_error("enough"); }
  } tired;
  TestStore store;
  Writer writer = store.writer();
  write_hosts(store, writer);
  SqliteStore reader(store.path);
  const auto series = reader.series({}, SIZE_MAX);
  CHECK_THROWS_WITH(reader.scan(series, {}, tired), "enough");
  CHECK(scan(reader, {{"proc.threads"}, {}, {}}).size() == 2);
}

TEST_CASE("twenty readers and a writer that packs and deletes: no call fails, and each sees whole batches") {
  TestStore store;
  Writer writer = store.writer({.retain_ns = 2000 * kSecond});
  const int64_t start = kNow - kNow % kHour;
  const auto write = [&](int64_t second) {
    auto samples = store.samples();
    for (int i = 0; i < 4; ++i) samples.metrics(start + second * kSecond, {{"pid", std::to_string(i)}}).real("a", 1);
    writer.write(samples.span(), start + second * kSecond);
    writer.maintain(start + second * kSecond);
  };
  write(1);
  std::atomic<bool> stop = false;
  std::atomic<int> failures = 0, calls = 0;
  std::vector<std::thread> readers;
  readers.reserve(20);
  for (int i = 0; i < 20; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        try {
          const auto all = scan(*open_store(store.path), {{"a"}, {}, {}});
          for (const auto &series : all) failures += series.size() != all.front().size() ? 1 : 0;
          ++calls;
        } catch (const std::exception &) {
          ++failures;
        }
      }
    });
  }
  for (int64_t second = 2; second <= 3000 || calls < 40; second += 2) write(second);
  stop = true;
  for (std::thread &reader : readers) reader.join();
  CHECK(failures == 0);
  CHECK(store.number("SELECT count(*) FROM chunks") > 0);
}

TEST_CASE("stacks come with their text, tags and numbers") {
  TestStore store;
  Writer writer = store.writer();
  auto samples = store.samples();
  for (int i = 0; i < 3; ++i)
    samples.add(ATALAYA_STACK, kNow + i, kSecond, {{"process", "java"}}, "main;run").count("profile.samples", i + 1);
  samples.add(ATALAYA_STACK, kNow, kSecond, {{"process", "other"}}, "main;wait").count("profile.samples", 9);
  writer.write(samples.span(), kNow);
  SqliteStore reader(store.path);
  Lines lines;
  reader.stacks({{}, {{"process", {"java"}}}, {kNow, kNow + kSecond}}, [&](const Stack &stack) {
    lines.push_back(std::to_string(stack.time_ns - kNow) + " " + text_of(stack.tags) + " " + std::string(stack.folded) + " " +
                    std::string(stack.fields[0].name) + " " + std::to_string(stack.fields[0].count));
  });
  CHECK(lines == Lines{"1 process=java main;run profile.samples 2", "2 process=java main;run profile.samples 3"});
}

TEST_CASE("spans are those that overlap the range; open ones last for ever") {
  TestStore store;
  Writer writer = store.writer();
  auto samples = store.samples();
  samples.add(ATALAYA_SPAN, kNow, 10, {{"job", "1"}}, "early");
  samples.add(ATALAYA_SPAN, kNow + 5, 10, {{"job", "1"}}, "middle").real("share", 0.5);
  samples.add(ATALAYA_SPAN, kNow + 6, -1, {{"job", "2"}}, "open");
  samples.add(ATALAYA_SPAN, kNow + 100, 1, {{"job", "1"}}, "late");
  writer.write(samples.span(), kNow);
  SqliteStore reader(store.path);
  const auto find = [&](const Selection &selection) {
    Lines lines;
    reader.spans(selection, [&](const Span &span) { lines.emplace_back(span.name); });
    return lines;
  };
  CHECK(find({{}, {}, {kNow + 10, kNow + 50}}) == Lines{"middle", "open"});
  CHECK(find({{}, {{"job", {"1"}}}, {}}) == Lines{"early", "middle", "late"});
  CHECK(find({{"?????"}, {}, {}}) == Lines{"early"});
  CHECK(find({{"late", "early"}, {}, {}}) == Lines{"early", "late"});
  CHECK(find({{"late"}, {}, {kNow, kNow + 50}}).empty());
}

TEST_CASE("\"sqlite:\" without a path is the default store, on the command line and in the environment") {
  const TestStore store;
  REQUIRE(::setenv("ATALAYA_STORE", store.path.c_str(), 1) == 0);
  for (const char *text : {"", "sqlite:"}) CHECK(store_of(text) == store.path);
  REQUIRE(::setenv("ATALAYA_STORE", ("sqlite:" + store.path).c_str(), 1) == 0);
  for (const char *text : {"", "sqlite:"}) CHECK(store_of(text) == store.path);
  REQUIRE(::setenv("ATALAYA_STORE", "sqlite:", 1) == 0);
  CHECK(store_of("").ends_with("/atalaya.db"));
  REQUIRE(::setenv("ATALAYA_STORE", "clickhouse:http://h/d", 1) == 0);
  CHECK(store_of("sqlite:") == "clickhouse:http://h/d");
  CHECK(store_of("sqlite:x") == "x");
  REQUIRE(::unsetenv("ATALAYA_STORE") == 0);
}

TEST_CASE("a store is opened by its path, with the engine's name or without") {
  TestStore store;
  store.writer();
  CHECK(open_store(store.path)->name() == "sqlite:" + store.path);
  CHECK(open_store("sqlite:" + store.path)->name() == "sqlite:" + store.path);
  CHECK_THROWS_WITH_AS(open_store("clickhouse:http://127.0.0.1:1/atalaya"),
                       "clickhouse:http://127.0.0.1:1/atalaya: Connection refused", Error);
}

}  // namespace
}  // namespace atalaya::store::test
