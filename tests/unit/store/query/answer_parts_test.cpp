// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/query/answer_parts.h"

#include <doctest/doctest.h>

#include <bit>
#include <random>
#include <string>
#include <vector>

#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/store/query/engine.h"
#include "plugins/shared/store/query/windows/downsample.h"
#include "tests/unit/store/query/memory_store.h"

namespace atalaya::query::test {
namespace {

using namespace command_line;

// Each bit of each value.
std::string text_of(const std::vector<Answer> &answers) {
  std::string text;
  for (const Answer &answer : answers) {
    text += answer.metric + " " + tags_text(answer.tags) + " (";
    for (const std::string &key : answer.aggregated_tags) text += key + " ";
    text += ") " + std::to_string(answer.window_ns) + " " + (answer.info ? answer.info->unit : "-") + ":";
    for (const Point &point : answer.points)
      text += " " + std::to_string(point.time_ns) + "=" + std::to_string(std::bit_cast<uint64_t>(point.value));
    for (const Count &count : answer.counts) text += " " + std::to_string(count.time_ns) + "#" + std::to_string(count.value);
    text += "\n";
  }
  return text;
}

std::string whole(MemoryStore &store, const Query &query) {
  Budget budget({});
  return text_of(run_query(query, store, budget));
}

struct Parts {
  std::string text;
  size_t count = 0, largest = 0;  // parts; points of the largest part with several answers
};

Parts in_parts(MemoryStore &store, const Query &query, size_t points) {
  Parts parts;
  size_t of_part = 0;
  AnswerParts all(query, points, [&](const std::vector<Answer> &answers, Budget &) {
    of_part = 0;
    for (const Answer &answer : answers) of_part += answer.points.size();
    if (answers.size() < 2) of_part = 0;
    return text_of(answers);
  });
  while (!all.finished()) {
    parts.text += all.next(store, {});
    parts.largest = std::max(parts.largest, of_part);
    ++parts.count;
    REQUIRE(parts.count < 10'000);
  }
  return parts;
}

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  template <class T>
  T one_of(const std::vector<T> &list) {
    return list[static_cast<size_t>(below(static_cast<int>(list.size())))];
  }

 private:
  std::minstd_rand random_;
};

MemoryStore random_store(Draw &draw) {
  MemoryStore store;
  store.block = static_cast<size_t>(1 + draw.below(20));
  store.summarize = draw.below(2) == 0;
  for (int host = 0; host < 1 + draw.below(4); ++host) {
    for (int pid = 0; pid < 1 + draw.below(12); ++pid) {
      const Tags tags{{"host", "h" + std::to_string(host)}, {"pid", std::to_string(100 - pid)}};
      std::vector<MemoryStore::Window> windows;
      const int step = draw.one_of<int>({1, 5, 10});
      for (int end = 1 + draw.below(60); end < 300; end += step * (1 + draw.below(3)))
        windows.push_back({end, draw.below(9) == 0 ? 0 : step, draw.below(1000) / 8.0});
      for (const char *metric : {"proc.cpu.user", "proc.disk.writes.mb", "net.bytes.total", "unknown.thing"})
        if (draw.below(3) > 0) store.add_windows(metric, tags, windows);
    }
  }
  store.add_windows("proc.cpu.user", {{"host", "instant"}}, {{draw.below(300), 0, 5}});
  return store;
}

Query random_query(Draw &draw) {
  Query query = all_of(draw.one_of<std::string>({"*", "proc.cpu.user", "proc.*"}),
                       draw.one_of<std::string>({"none", "none", "zimsum", "sum", "avg", "max", "count"}));
  query.range = {kT0 + draw.below(200) * kSecond,
                 kT0 + (draw.below(2) == 0 ? 200 + draw.below(200) : 285 + draw.below(30)) * kSecond};
  if (query.group && draw.below(3) > 0) query.group_by = {draw.one_of<std::string>({"host", "pid", "*"})};
  if (draw.below(2) == 0)
    query.downsample =
        parse_downsample(draw.one_of<std::string>({"10s", "7s", "13s", "1m-avg", "30s-max", "10s-p95", "20s-sum-zero"})).value();
  if (draw.below(4) == 0) query.rate = Rate{};
  if (draw.below(3) == 0) query.edge = Edge::start;
  if (draw.below(4) == 0) query.kinds = draw.one_of<Kinds>({Kinds::intervals, Kinds::instants});
  return query;
}

}  // namespace

TEST_CASE("parts of any size are together what answers_to returns, to the bit, each within its limit") {
  size_t several = 0;
  for (unsigned seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    Draw draw(seed);
    MemoryStore store = random_store(draw);
    const Query query = random_query(draw);
    const auto points = static_cast<size_t>(1 + draw.below(200));
    CAPTURE(points);
    const Parts parts = in_parts(store, query, points);
    CHECK(parts.text == whole(store, query));
    CHECK(parts.largest <= points);
    several += parts.count > 2 ? 1 : 0;
  }
  CHECK(several > 150);
}

TEST_CASE("a series that begins between two parts does not disturb the others; the limits of the query hold for each part") {
  MemoryStore store;
  for (int i = 10; i < 40; ++i) {
    Values values;
    for (int second = 0; second < 100; ++second) values.emplace_back(second, i);
    store.add("m", {{"host", std::to_string(i)}}, values);
  }
  Query query = all_of("m", "none");
  AnswerParts parts(query, 500, [](const std::vector<Answer> &answers, Budget &) { return text_of(answers); });
  const std::string before = whole(store, query);
  std::string text = parts.next(store, {});
  CHECK(before.starts_with(text));
  store.add("m", {{"host", "00"}}, {{5, 1}});  // before the next part
  while (!parts.finished()) text += parts.next(store, {});
  CHECK(text == before);

  const auto take_all = [&](const Limits &limits, size_t points) {
    AnswerParts limited(query, points, [](const std::vector<Answer> &answers, Budget &) { return text_of(answers); });
    while (!limited.finished()) limited.next(store, limits);
  };
  CHECK_THROWS_AS(take_all({100'000, 99, kSecond}, 50), TooManyPoints);  // a single series has more
  CHECK_NOTHROW(take_all({100'000, 100, 60 * kSecond}, 50));
  CHECK_THROWS_AS(take_all({100'000, 200, 60 * kSecond}, 200), TooManyPoints);  // whole, or not at all
  CHECK_THROWS_AS(take_all({10, 150, 60 * kSecond}, 50), TooMuch);
  query.metrics = {"none.such"};
  CHECK_THROWS_AS(take_all({}, 50), UnknownMetric);
}

}  // namespace atalaya::query::test
