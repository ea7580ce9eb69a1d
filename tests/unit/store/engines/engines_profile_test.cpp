// SPDX-License-Identifier: Apache-2.0
// Stacks and spans as the interface of the store returns them, for every engine.
#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "plugins/shared/store/lookup.h"
#include "tests/unit/store/engines/engines.h"

namespace atalaya::store::test {
namespace {

using Lines = std::vector<std::string>;

TEST_CASE_TEMPLATE("stacks come with their text, tags and numbers", Tested, Sqlite, ClickHouse) {
  SKIP_WHERE_MISSING(Tested)
  Tested engine;
  auto samples = engine.samples();
  for (int i = 0; i < 3; ++i)
    samples.add(ATALAYA_STACK, kNow + i, 1, {{"process", "java"}}, "main;run").count("profile.samples", i + 1);
  samples.add(ATALAYA_STACK, kNow, kSecond, {{"process", "other"}}, "main;wait").count("profile.samples", 9);
  engine.writer()->write(samples.span(), kNow);
  Lines lines;
  engine.open()->stacks({{}, {{"process", {"java"}}}, {kNow, kNow + kSecond}}, [&](const Stack &stack) {
    lines.push_back(std::to_string(stack.time_ns - kNow) + " " + stack.tags.at("process") + " " + std::string(stack.folded) + " " +
                    std::string(stack.fields[0].name) + " " + std::to_string(stack.fields[0].count));
  });
  CHECK(lines == Lines{"1 java main;run profile.samples 2", "2 java main;run profile.samples 3"});
}

// Of a range: by stack, the sum of samples in units of 2^-20.
std::map<std::string, int64_t> samples_in(Store &store, const Range &range) {
  std::map<std::string, int64_t> sums;
  store.stacks({{}, {}, range}, [&](const Stack &stack) {
    CHECK(stack.time_ns <= range.to_ns);
    CHECK(stack.time_ns - stack.duration_ns >= range.from_ns);
    const double units = field_of(stack.fields, "profile.samples") * (1 << 20);
    CHECK(units == std::floor(units));
    sums[std::string(stack.folded)] += static_cast<int64_t>(units);
  });
  return sums;
}

TEST_CASE_TEMPLATE("stacks belong to the part of a range that their window overlaps, and ranges that divide a range sum to it",
                   Tested, Sqlite, ClickHouse) {
  SKIP_WHERE_MISSING(Tested)
  struct Window {
    int64_t time_ns, duration_ns, samples;
    std::string folded;
  };
  std::mt19937 dice(7);
  const auto up_to = [&](int64_t maximum) { return std::uniform_int_distribution<int64_t>(0, maximum)(dice); };
  for (int round = 0; round < 3; ++round) {
    Tested engine;
    auto samples = engine.samples();
    std::vector<Window> windows;
    for (int64_t i = 0, end = kNow; i < 30; ++i) {
      const int64_t length = up_to(10'000) * kSecond / 1000 + 1;
      end += length;
      windows.push_back({end, length, up_to(500), "main;f" + std::to_string(i % 3)});
      samples.add(ATALAYA_STACK, end, length, {{"process", "java"}}, windows.back().folded)
          .count("profile.samples", windows.back().samples);
    }
    engine.writer()->write(samples.span(), kNow);
    const auto store = engine.open();
    for (int i = 0; i < 20; ++i) {
      std::vector<int64_t> cuts = {kNow + up_to(300 * kSecond), kNow + up_to(300 * kSecond), kNow + up_to(300 * kSecond)};
      std::sort(cuts.begin(), cuts.end());
      std::map<std::string, int64_t> parts = samples_in(*store, {cuts[0], cuts[1]});
      for (const auto &[folded, units] : samples_in(*store, {cuts[1], cuts[2]})) parts[folded] += units;
      const std::map<std::string, int64_t> all = samples_in(*store, {cuts[0], cuts[2]});
      CHECK(parts == all);
      std::map<std::string, double> expected;
      for (const Window &one : windows) {
        const double inside =
            static_cast<double>(std::min(one.time_ns, cuts[2]) - std::max(one.time_ns - one.duration_ns, cuts[0]));
        if (inside > 0) expected[one.folded] += static_cast<double>(one.samples) * inside / static_cast<double>(one.duration_ns);
      }
      CHECK(all.size() == expected.size());
      for (const auto &[folded, sum] : expected) CHECK(std::abs(static_cast<double>(all.at(folded)) / (1 << 20) - sum) < 1e-4);
    }
  }
}

TEST_CASE_TEMPLATE("a range within a window has its part of the window's stacks", Tested, Sqlite, ClickHouse) {
  SKIP_WHERE_MISSING(Tested)
  Tested engine;
  auto samples = engine.samples();
  samples.add(ATALAYA_STACK, kNow + 10 * kSecond, 10 * kSecond, {{"process", "java"}}, "main")
      .count("profile.samples", 935)
      .count("profile.ns", 9'350'000'000);
  engine.writer()->write(samples.span(), kNow);
  std::vector<std::pair<double, double>> found;
  engine.open()->stacks({{}, {}, {kNow + 3 * kSecond, kNow + 4 * kSecond}}, [&](const Stack &stack) {
    found.emplace_back(field_of(stack.fields, "profile.samples"), field_of(stack.fields, "profile.ns"));
    CHECK(stack.time_ns == kNow + 4 * kSecond);
    CHECK(stack.duration_ns == kSecond);
  });
  REQUIRE(found.size() == 1);
  CHECK(found[0].first == doctest::Approx(93.5));
  CHECK(found[0].second == 935'000'000);
}

TEST_CASE_TEMPLATE("stacks come back letter by letter: long ones, empty frames, none that is part of another one by its text only",
                   Tested, Sqlite, ClickHouse) {
  SKIP_WHERE_MISSING(Tested)
  Tested engine;
  std::string deep = "main";
  for (int i = 0; i < 2000; ++i) deep += ";f" + std::to_string(i % 7);
  const std::vector<std::string> texts = {"a", "a;", "a;b", "ab", "a;b;a;b", ";a", ";;", deep, deep + "x"};
  std::map<std::string, int64_t> wanted, got;
  std::set<int64_t> numbers;
  const auto writer = engine.writer();
  for (size_t round = 0; round < 2; ++round) {
    auto samples = engine.samples();
    for (size_t i = 0; i < texts.size(); ++i)
      samples.add(ATALAYA_STACK, kNow, kSecond, {{"process", "java"}}, texts[i])
          .count("profile.samples", wanted[texts[i]] = static_cast<int64_t>(i));
    writer->write(samples.span(), kNow);
  }
  engine.open()->stacks({}, [&](const Stack &stack) {
    got[std::string(stack.folded)] += stack.fields[0].count;
    numbers.insert(stack.number);
  });
  CHECK(got == wanted);
  CHECK(numbers.size() == texts.size());
}

TEST_CASE_TEMPLATE("spans are those that overlap the range; open ones last for ever", Tested, Sqlite, ClickHouse) {
  SKIP_WHERE_MISSING(Tested)
  Tested engine;
  const auto writer = engine.writer();
  auto samples = engine.samples();
  samples.add(ATALAYA_SPAN, kNow - 9 * kDay, 10, {{"job", "1"}}, "old");
  samples.add(ATALAYA_SPAN, kNow - 8 * kDay, 9 * kDay, {{"job", "3"}}, "long");
  samples.add(ATALAYA_SPAN, kNow, 10, {{"job", "1"}}, "early");
  samples.add(ATALAYA_SPAN, kNow + 5, 10, {{"job", "1"}}, "middle").real("share", 0.5);
  samples.add(ATALAYA_SPAN, kNow + 6, -1, {{"job", "2"}}, "open");
  samples.add(ATALAYA_SPAN, kNow + 100, 1, {{"job", "1"}}, "late");
  writer->write(samples.span(), kNow);
  const auto reader = engine.open();
  const auto find = [&](const Selection &selection) {
    Lines lines;
    reader->spans(selection, [&](const Span &span) { lines.emplace_back(span.name); });
    return lines;
  };
  CHECK(find({{}, {}, {kNow + 10, kNow + 50}}) == Lines{"long", "middle", "open"});
  CHECK(find({{}, {{"job", {"1"}}}, {}}) == Lines{"old", "early", "middle", "late"});
  CHECK(find({{"?????"}, {}, {}}) == Lines{"early"});
  CHECK(find({{"late", "early"}, {}, {}}) == Lines{"early", "late"});
  CHECK(find({{"late"}, {}, {kNow, kNow + 50}}).empty());
  CHECK(find({{}, {}, {kNow - 10 * kDay, kNow - 9 * kDay}}) == Lines{"old"});
  CHECK(find({{}, {}, {0, 1}}).empty());
  CHECK_THROWS_AS(find({{"["}, {}, {0, 1}}), Error);
}

TEST_CASE_TEMPLATE("a span is replaced when it ends", Tested, Sqlite, ClickHouse) {
  SKIP_WHERE_MISSING(Tested)
  Tested engine;
  const auto writer = engine.writer();
  const auto found = [&](const Range &range) {
    Lines lines;
    engine.open()->spans({{}, {}, range}, [&](const Span &span) {
      lines.push_back(std::string(span.name) + " " + span.tags.at("job") + " " + std::to_string(span.duration_ns) + " " +
                      std::to_string(span.fields.size()));
    });
    return lines;
  };
  auto open = engine.samples();
  open.add(ATALAYA_SPAN, kNow, -1, {{"host", "ant"}, {"job", "1"}}, "map").count("progress", 1);
  writer->write(open.span(), kNow);
  CHECK(found({}) == Lines{"map 1 -1 1"});
  auto ended = engine.samples();
  ended.add(ATALAYA_SPAN, kNow, 90, {{"host", "ant"}, {"job", "1"}}, "map");
  writer->write(ended.span(), kNow + 90);
  CHECK(found({}) == Lines{"map 1 90 0"});
  CHECK(found({kNow + kSecond, kNow + kDay}).empty());  // when it was open it would have been there
}

TEST_CASE_TEMPLATE("tags of spans come back as they were written", Tested, Sqlite, ClickHouse) {
  SKIP_WHERE_MISSING(Tested)
  Tested engine;
  const std::vector<Tags> all = {{{"job", "a\"b"}, {"host", "h"}},
                                 {{"job", "a\\"}, {"task", "\",\"x\":\"y"}},
                                 {{"job", "}{,:"}, {"task", "line\nline"}, {"pid", "7"}, {"process", "p"}},
                                 {{"job", ""}, {"task", "Übergrößen"}, {"k\"ey", "v"}},
                                 {{"pid", "007"}, {"job", "plain"}},
                                 {},
                                 {{"job", "1"}, {"host", "h"}, {"phase", "read"}, {"pid", "7"}},
                                 {{"job", "2"}, {"host", "i"}, {"phase", "map"}, {"pid", "8"}},
                                 {{"job", "2"}, {"attempt", "a"}, {"host", "h"}},
                                 {{"process", "p"}, {"job", "2"}, {"zone", "z"}},
                                 {{"host", "only"}}};
  auto samples = engine.samples();
  for (size_t i = 0; i < all.size(); ++i) {
    samples.add(ATALAYA_SPAN, kNow + static_cast<int64_t>(i), 1, {}, "s");
    for (const auto &[key, value] : all[i]) samples.tag(key, value);
  }
  engine.writer()->write(samples.span(), kNow);
  std::vector<Tags> found;
  engine.open()->spans({}, [&](const Span &span) { found.push_back(span.tags); });
  CHECK(found == all);
}

// More days than one statement selects.
TEST_CASE_TEMPLATE("spans of many days come in order", Tested, Sqlite, ClickHouse) {
  SKIP_WHERE_MISSING(Tested)
  Tested engine;
  auto samples = engine.samples();
  constexpr int64_t kHowMany = 600;
  for (int64_t day = 0; day < kHowMany; ++day)
    samples.add(ATALAYA_SPAN, kNow - day * kDay, kSecond, {{"job", "1"}}, std::to_string(kHowMany - day));
  engine.writer()->write(samples.span(), kNow);
  Lines lines, wanted;
  wanted.reserve(kHowMany);
  engine.open()->spans({}, [&](const Span &span) { lines.emplace_back(span.name); });
  for (int64_t day = 1; day <= kHowMany; ++day) wanted.push_back(std::to_string(day));
  CHECK(lines == wanted);
}

}  // namespace
}  // namespace atalaya::store::test
