// SPDX-License-Identifier: Apache-2.0
// Several stores answer as one store that has all of their samples. The oracle is that store.
#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "plugins/shared/store/joined_store.h"
#include "plugins/shared/store/query/engine.h"
#include "plugins/shared/store/query/windows/downsample.h"
#include "tests/unit/store/engines/engines.h"

namespace atalaya::store::test {
namespace {

constexpr int64_t kFirst = kNow - kNow % kHour;

// Three stores, and one with all of their samples.
struct World {
  explicit World(unsigned seed = 1) : random(seed) {
    for (Sqlite &part : parts) writers.push_back(part.writer());
  }

  std::mt19937 random;
  std::array<Sqlite, 3> parts;
  Sqlite whole;
  std::vector<std::unique_ptr<StoreWriter>> writers;
  std::unique_ptr<StoreWriter> whole_writer = whole.writer();

  // What is written to a later store of the list is written later to the whole one, too.
  template <class Make>
  void write(size_t store, Make &&make) {
    const std::mt19937 before = random;
    auto samples = parts[store].samples();
    make(samples);
    writers[store]->write(samples.span(), kNow);
    random = before;
    auto same = whole.samples();
    make(same);
    whole_writer->write(same.span(), kNow);
  }
  std::unique_ptr<Store> joined(size_t max_buffered) const {
    std::vector<std::unique_ptr<Store>> stores;
    for (const Sqlite &part : parts) stores.push_back(part.open());
    return std::make_unique<JoinedStore>(std::move(stores), max_buffered);
  }
};

Samples &add(Samples &samples, uint32_t kind, int64_t time_ns, int64_t duration_ns, const Tags &tags,
             const std::string &text = {}) {
  samples.add(kind, time_ns, duration_ns, {}, text);
  for (const auto &[key, value] : tags) samples.tag(key, value);
  return samples;
}

void fill(World &world) {
  const auto any = [&](int from, int to) { return from + static_cast<int>(world.random() % static_cast<unsigned>(to - from + 1)); };
  const auto second = [](int at) { return kFirst + at * kSecond; };
  for (size_t store = 0; store < 3; ++store)
    for (int pid = 0; pid < 12; ++pid) {
      // The first four are in all stores, with common times; the others in one each.
      if (pid >= 4 && static_cast<size_t>(pid % 3) != store) continue;
      const Tags tags = {
          {"host", "h" + std::to_string(pid % 2)}, {"process", "p" + std::to_string(pid % 5)}, {"pid", std::to_string(pid)}};
      world.write(store, [&](Samples &samples) {
        for (int at = 10 * any(1, 10); at < 600; at += 10 * any(1, 3)) {
          const double value = any(0, 4000) / 4.0;
          add(samples, ATALAYA_METRICS, second(at), 10 * kSecond, tags).real("proc.cpu.user", value).real("flow.sent.bytes", value);
        }
      });
      world.write(store, [&](Samples &samples) {
        for (int at = any(1, 100); at < 600; at += any(1, 100))
          add(samples, ATALAYA_STACK, second(at), 10 * kSecond, tags, "main;f" + std::to_string(any(0, 3)))
              .count("profile.samples", any(1, 9));
        for (int at = any(1, 100); at < 600; at += any(1, 200))
          add(samples, ATALAYA_SPAN, second(at), (1 + (at + pid) % 60) * kSecond, tags, "task");
      });
    }
}

std::string line_of(const Tags &tags) {
  std::string text;
  for (const auto &[key, value] : tags) text += key + "=" + value + " ";
  return text;
}

std::string answers(Store &store, const std::string &metric, const std::string &every, const std::string &aggregator) {
  query::Query question;
  question.metrics = {metric};
  question.group_by = {"process"};
  question.range = {kFirst + 35 * kSecond, kFirst + 555 * kSecond};
  question.aggregator = *query::Aggregator::find(aggregator);
  if (!every.empty()) question.downsample = query::parse_downsample(every).value();
  query::Budget budget({});
  std::string text;
  for (const query::Answer &answer : query::run_query(question, store, budget)) {
    text += line_of(answer.tags) + ":";
    for (const query::Point &point : answer.points)
      text += " " + std::to_string(point.time_ns) + "=" + std::to_string(static_cast<float>(point.value));
    text += "\n";
  }
  return text;
}

// In order of time; those of one time in the order of their content.
std::string all_stacks(Store &store, const Selection &selection) {
  std::vector<std::pair<int64_t, std::string>> all;
  std::map<int64_t, Tags> tags;
  std::map<int64_t, std::string> texts;
  store.stacks(selection, [&](const Stack &stack) {
    CHECK((all.empty() || all.back().first <= stack.time_ns));
    CHECK(tags.try_emplace(stack.entity, stack.tags).first->second == stack.tags);
    CHECK(texts.try_emplace(stack.number, stack.folded).first->second == stack.folded);
    std::string text = line_of(stack.tags) + std::string(stack.folded) + " " + std::to_string(stack.duration_ns);
    for (const Field &field : stack.fields) text += " " + std::string(field.name) + "=" + std::to_string(field.count);
    all.emplace_back(stack.time_ns, std::move(text));
  });
  std::sort(all.begin(), all.end());
  std::string text;
  for (const auto &[time, line] : all) text += std::to_string(time) + " " + line + "\n";
  return text;
}

std::string all_spans(Store &store, const Selection &selection) {
  std::vector<std::pair<int64_t, std::string>> all;
  store.spans(selection, [&](const Span &span) {
    CHECK((all.empty() || all.back().first <= span.start_ns));
    all.emplace_back(span.start_ns, std::string(span.name) + " " + std::to_string(span.duration_ns) + " " + line_of(span.tags));
  });
  std::sort(all.begin(), all.end());
  std::string text;
  for (const auto &[time, line] : all) text += std::to_string(time) + " " + line + "\n";
  return text;
}

std::vector<std::string> names_of(const std::vector<Series> &series) {
  std::vector<std::string> names;
  for (const Series &one : series)
    names.push_back(one.metric + " " + line_of(one.tags) + std::to_string(static_cast<int>(one.kind())));
  return names;
}

}  // namespace

TEST_CASE("several stores answer as one with all of their samples, with any memory") {
  for (unsigned seed = 1; seed <= 2; ++seed) {
    CAPTURE(seed);
    World world(seed);
    fill(world);
    if (seed % 2 == 0)  // packed
      for (int64_t later = 1; later < 100; ++later) {
        for (const auto &writer : world.writers) writer->maintain(kNow + later * kHour);
        world.whole_writer->maintain(kNow + later * kHour);
      }
    const auto whole = world.whole.open();
    for (const size_t memory : {size_t{1}, size_t{40}, size_t{1} << 20}) {
      CAPTURE(memory);
      const auto joined = world.joined(memory);
      CHECK(joined->metrics() == whole->metrics());
      CHECK(joined->tag_keys() == whole->tag_keys());
      CHECK(joined->tag_values("pid") == whole->tag_values("pid"));
      CHECK(joined->catalogue().size() == whole->catalogue().size());
      const auto extent = joined->extent(kNow), extent_of_whole = whole->extent(kNow);
      REQUIRE(extent);
      REQUIRE(extent_of_whole);
      CHECK(extent->from_ns == extent_of_whole->from_ns);
      CHECK(extent->to_ns == extent_of_whole->to_ns);
      CHECK(names_of(joined->series({}, 1000)) == names_of(whole->series({})));
      CHECK(joined->series({}, 5).size() == 5);
      for (const std::string metric : {"proc.cpu.user", "flow.sent.bytes"})
        for (const std::string every : {"", "7s", "1m", "1m-max"})
          for (const std::string aggregator : {"zimsum", "max"})
            CHECK(answers(*joined, metric, every, aggregator) == answers(*whole, metric, every, aggregator));
      for (const Range range : {Range{}, Range{kFirst + 95 * kSecond, kFirst + 405 * kSecond}}) {
        Selection selection;
        selection.range = range;
        CHECK(all_stacks(*joined, selection) == all_stacks(*whole, selection));
        CHECK(all_spans(*joined, selection) == all_spans(*whole, selection));
      }
    }
  }
}

TEST_CASE("an end in any store wins over an open span, and exceptions of visitors pass through") {
  World world;
  const Tags tags = {{"job", "j"}};
  world.write(0, [&](Samples &samples) { add(samples, ATALAYA_SPAN, kFirst, kSecond, tags, "map"); });
  world.write(1, [&](Samples &samples) {
    add(samples, ATALAYA_SPAN, kFirst, -1, tags, "map");
    add(samples, ATALAYA_STACK, kFirst, kSecond, tags, "a;b").count("profile.samples", 1);
  });
  const auto joined = world.joined(100);
  CHECK(all_spans(*joined, {}) == std::to_string(kFirst) + " map " + std::to_string(kSecond) + " job=j \n");
  Selection later;
  later.range = {kFirst + 2 * kSecond, kFirst + 3 * kSecond};
  CHECK(all_spans(*joined, later).empty());
  world.write(2, [&](Samples &samples) { add(samples, ATALAYA_SPAN, kFirst, -1, tags, "reduce"); });
  CHECK(all_spans(*joined, later) == std::to_string(kFirst) + " reduce -1 job=j \n");
  CHECK_THROWS_AS(joined->stacks({}, [](const Stack &) { throw 7; }), int);
  CHECK(all_stacks(*joined, {}).find("a;b") != std::string::npos);
}

TEST_CASE("stores are named once; numbers of other stores are refused") {
  World world;
  const std::string name = world.parts[0].open()->name().substr(std::string("sqlite:").size());
  CHECK_THROWS_WITH_AS(open_store(std::vector<std::string>{name, "sqlite:" + name}),
                       ("sqlite:" + name + " is given twice; name each store once").c_str(), Error);
  struct None final : PointVisitor {
    void points(size_t, const Points &) override {}
  } none;
  const std::vector<Series> unknown = {{77, 78, "m", {}}};
  CHECK_THROWS_AS(world.joined(1)->scan(unknown, {}, none), Error);
}

}  // namespace atalaya::store::test
