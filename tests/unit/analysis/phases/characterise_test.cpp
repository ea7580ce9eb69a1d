// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/phases/models/characterise.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "tests/unit/analysis/phases/traces.h"

namespace atalaya::phases {
namespace {

using test::Kind;
using test::Planted;

constexpr int64_t kSecond = 1'000'000'000;
const std::vector<Kind> kKinds = {{100, {6, 3, 1}, 4}, {200, {4, 4, 2}, 4}, {300, {1}, 1}, {400, {3, 3, 2, 1, 1}, 8}};

// The occurrences that a store would have: the last of each begin wins.
struct Watched {
  std::map<int64_t, Occurrence> spans;
  std::vector<Occurrence> changed;
  size_t most_buffered = 0;
};

Watched watch(PhaseBook &book, const Trace &trace, size_t buffer = 120) {
  Watched watched;
  Characteriser process(book, {.buffer = buffer});
  std::vector<Occurrence> changed;
  for (size_t i = 0; i < trace.size(); ++i) {
    ResourceValues resources;
    resources.values[kCpu] = static_cast<double>(i);
    process.add({trace.time_ns(i), kSecond, trace.parts(i), trace.threads(i), resources}, changed);
    watched.most_buffered = std::max(watched.most_buffered, process.buffered());
  }
  process.finish(changed);
  for (const Occurrence &one : changed) watched.spans.insert_or_assign(one.start_ns, one);
  watched.changed = std::move(changed);
  return watched;
}

// Planted boundaries in seconds, each begin of a span within `near` of one, and each phase the same name.
void check_spans(const Watched &watched, const std::vector<Planted> &order, double near) {
  REQUIRE(watched.spans.size() == order.size());
  double at = 0;
  std::map<size_t, size_t> names;
  auto span = watched.spans.begin();
  for (const Planted &planted : order) {
    CHECK(std::abs(static_cast<double>(span->second.start_ns) / 1e9 - at) <= near);
    at += static_cast<double>(planted.samples);
    CHECK(std::abs(static_cast<double>(span->second.end_ns) / 1e9 - at) <= near);
    CHECK_FALSE(span->second.is_open);
    CHECK(names.try_emplace(planted.kind, span->second.phase).first->second == span->second.phase);
    ++span;
  }
}

TEST_CASE("phases that nobody knows are learned, and recognised later within a sample") {
  PhaseBook book;
  const std::vector<Planted> order = {{0, 70}, {1, 80}, {3, 60}};
  watch(book, test::trace_of(kKinds, order, {.foreign = 0.05}, 1));
  CHECK(book.size() == 3);
  for (uint32_t seed = 2; seed < 12; ++seed) {
    const std::vector<Planted> other = {{1, 90}, {0, 60}, {3, 75}, {1, 60}};
    check_spans(watch(book, test::trace_of(kKinds, other, {.foreign = 0.05}, seed)), other, 1);
  }
  CHECK(book.size() == 3);
}

// As in programs, where all stacks begin with the same functions.
Trace nested(const std::vector<Planted> &order, uint32_t seed) {
  std::mt19937 random(seed);
  Trace trace;
  for (const Planted &planted : order)
    for (size_t i = 0; i < planted.samples; ++i) {
      const uint32_t first = 10 + 10 * static_cast<uint32_t>(planted.kind);
      const std::vector<Part> parts = {{1, 1}, {first, 1}, {first + 1, 1}, {first + 2 + static_cast<uint32_t>(random() % 4), 1}};
      trace.add(static_cast<int64_t>(trace.size() + 1) * kSecond, parts, 1);
    }
  return trace;
}
Trace nested(size_t load, size_t sort, uint32_t seed) {
  return nested({{0, load}, {1, sort}}, seed);
}

TEST_CASE("the last phase of a process is found if it has the samples of a phase, and teaches no phase again") {
  for (uint32_t round = 0; round < 40; ++round) {
    PhaseBook book;
    watch(book, nested(60, 60, 1000 + round));
    REQUIRE(book.size() == 2);
    for (const size_t last : {5, 6, 7, 8, 9, 10, 15, 30}) {
      CAPTURE(last);
      const Watched watched = watch(book, nested(100, last, 100 * round + static_cast<uint32_t>(last)));
      REQUIRE(watched.spans.size() == 2);
      CHECK(watched.spans.rbegin()->first == 100 * kSecond);
      CHECK(watched.spans.rbegin()->second.end_ns == static_cast<int64_t>(100 + last) * kSecond);
    }
    CHECK(book.size() == 2);
  }
}

TEST_CASE("the last phase of the first run is learned although its stacks begin with the functions of the one before") {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    PhaseBook book;
    check_spans(watch(book, nested(150, 60, seed)), {{0, 150}, {1, 60}}, 1);
  }
}

// Such as one that waits longer for a slower disk.
TEST_CASE("a phase with other shares of its functions in a later run is the same phase") {
  const std::vector<Kind> usual = {{100, {5, 5}, 4}, {200, {1}, 2}}, slow = {{100, {9, 1}, 4}, {200, {1}, 2}};
  for (uint32_t seed = 0; seed < 40; ++seed) {
    PhaseBook book;
    const std::vector<Planted> order = {{0, 50}, {1, 50}};
    CAPTURE(seed);
    check_spans(watch(book, test::trace_of(usual, order, {}, seed)), order, 1);
    check_spans(watch(book, test::trace_of(slow, order, {}, seed)), order, 1);
    CHECK(book.size() == 2);
  }
}

TEST_CASE("a phase with other shares of its functions is followed to its end") {
  const std::vector<Kind> usual = {{100, {5, 5}, 4}, {200, {1}, 2}}, slow = {{100, {9, 1}, 4}, {200, {1}, 2}};
  for (uint32_t seed = 0; seed < 40; ++seed) {
    PhaseBook book;
    watch(book, test::trace_of(usual, {{0, 50}, {1, 50}}, {}, seed));
    for (const size_t length : {50, 130, 500}) {
      CAPTURE(seed);
      CAPTURE(length);
      const std::vector<Planted> order = {{0, length}, {1, 50}};
      const Watched watched = watch(book, test::trace_of(slow, order, {}, seed));
      check_spans(watched, order, 1);
      for (const Occurrence &one : watched.changed)
        if (!one.is_open) CHECK(one.end_ns >= static_cast<int64_t>(length - 1) * kSecond);
    }
    CHECK(book.size() == 2);
  }
}

TEST_CASE("an unknown phase with the first functions of known ones is no part of them") {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    PhaseBook known;
    watch(known, nested(60, 60, 1000 + seed));
    REQUIRE(known.size() == 2);
    const std::vector<Profile> profiles = known.profiles();
    for (const size_t unknown : {12, 15, 20, 30, 60, 119, 130, 300}) {
      for (const std::vector<Planted> &order :
           {std::vector<Planted>{{0, 100}, {2, unknown}}, std::vector<Planted>{{0, 100}, {2, unknown}, {1, 100}},
            std::vector<Planted>{{1, 40}, {2, unknown}, {1, 40}}}) {
        CAPTURE(seed);
        CAPTURE(unknown);
        CAPTURE(order.size());
        PhaseBook book = known;
        const Trace trace = nested(order, 100 * seed + static_cast<uint32_t>(unknown));
        // With 119 samples the buffer is full after the first sample of the next phase, which is then a part of it.
        check_spans(watch(book, trace), order, unknown == 119 ? 2 : 1);
        CHECK(book.size() == 3);
        const Trace *const one = &trace;
        const MinedRuns mined = mine(std::span(&one, 1), profiles, {});
        REQUIRE(mined.segments[0].size() == order.size());
        size_t end = 0;
        for (size_t i = 0; i < order.size(); ++i) CHECK(mined.segments[0][i].end == (end += order[i].samples));
      }
    }
  }
}

TEST_CASE("an unknown phase at the end that is too short to be learned is no part of the one before") {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    PhaseBook known;
    watch(known, nested(60, 60, 1000 + seed));
    // Fewer samples than an epoch do not show what a phase does.
    for (size_t unknown = std::max<size_t>(5, known.epoch(0)); unknown < 10; ++unknown) {
      CAPTURE(seed);
      CAPTURE(unknown);
      PhaseBook book = known;
      const Watched watched = watch(book, nested({{0, 100}, {2, unknown}}, 100 * seed + static_cast<uint32_t>(unknown)));
      REQUIRE(watched.spans.size() == 1);
      CHECK(std::abs(watched.spans.begin()->second.end_ns - 100 * kSecond) <= kSecond);
    }
  }
}

// The phase that explains the common first function best, which all of its samples have.
TEST_CASE("samples that are unlike all phases are no occurrence of the most likely one") {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    PhaseBook book;
    watch(book, nested(60, 60, 1000 + seed));
    REQUIRE(book.size() == 2);
    Moments threads;
    for (int i = 0; i < 60; ++i) threads.add(1);
    REQUIRE(book.add({Profile({{1, 97}, {2, 3}}, threads), 1}));
    for (const auto &[start, span] : watch(book, nested({{0, 100}, {2, 9}, {1, 100}}, seed)).spans) CHECK(span.phase != 2);
  }
}

TEST_CASE("a known phase that is too short for five epochs is not a part of the phase before or after it") {
  PhaseBook book;
  const Watched first = watch(book, nested(60, 60, 1));
  REQUIRE(first.spans.size() == 2);
  const size_t load = first.spans.begin()->second.phase, sort = first.spans.rbegin()->second.phase;
  const size_t few_loads = 5 * book.epoch(load) - 1, few_sorts = 5 * book.epoch(sort) - 1;
  REQUIRE(std::min(few_loads, few_sorts) > 5);
  for (uint32_t seed = 2; seed < 20; ++seed) {
    for (const auto &[loads, sorts] : {std::pair(few_loads, size_t{100}), std::pair(size_t{100}, few_sorts)}) {
      CAPTURE(loads);
      const Watched watched = watch(book, nested(loads, sorts, seed));
      REQUIRE(watched.spans.size() == 2);
      CHECK(watched.spans.begin()->second.phase == load);
      CHECK(watched.spans.rbegin()->first == static_cast<int64_t>(loads) * kSecond);
      CHECK(watched.spans.rbegin()->second.phase == sort);
    }
  }
}

TEST_CASE("a known phase of three samples or more is found between others and at the end, and none is found where there is none") {
  for (uint32_t seed = 0; seed < test::rounds(20); ++seed) {
    PhaseBook book;
    watch(book, test::trace_of(kKinds, {{0, 70}, {1, 80}, {3, 60}}, {.foreign = 0.02}, seed));
    REQUIRE(book.size() == 3);
    const auto check = [&](const std::vector<Planted> &order) {
      CAPTURE(seed);
      CAPTURE(order.size());
      CAPTURE(order[1].samples);
      check_spans(watch(book, test::trace_of(kKinds, order, {.foreign = 0.02}, seed + 1000)), order, 1);
    };
    for (const size_t samples : {3, 4, 5, 8}) {
      check({{0, 60}, {1, samples}, {3, 60}});
      check({{0, 60}, {1, samples}});
    }
    check({{0, 200}, {3, 200}});
    CHECK(book.size() == 3);
  }
}

TEST_CASE("a phase is recognised after five of its epochs") {
  PhaseBook book;
  watch(book, test::trace_of(kKinds, {{2, 100}}, {}, 1));
  REQUIRE(book.size() == 1);
  REQUIRE(book.epoch(0) == 1);
  Characteriser process(book, {});
  std::vector<Occurrence> changed;
  const Trace trace = test::trace_of(kKinds, {{2, 5}}, {}, 2);
  for (size_t i = 0; i < 5; ++i) {
    CHECK_FALSE(process.phase());
    process.add({trace.time_ns(i), kSecond, trace.parts(i), 1, {}}, changed);
  }
  CHECK(process.phase() == 0);
  REQUIRE(changed.size() == 1);
  CHECK(changed[0].is_open);
  CHECK(changed[0].start_ns == 0);  // it began with the first of them
}

TEST_CASE("the usage of an occurrence is that of its samples") {
  PhaseBook book;
  const std::vector<Planted> order = {{0, 60}, {2, 60}};
  const Watched watched = watch(book, test::trace_of(kKinds, order, {}, 3));
  REQUIRE(watched.spans.size() == 2);
  double samples = 0;
  for (const auto &[start, span] : watched.spans) {
    const double first = static_cast<double>(start) / 1e9, last = static_cast<double>(span.end_ns) / 1e9 - 1;
    CHECK(span.usage.by_resource[kCpu].count == doctest::Approx(last - first + 1));
    CHECK(span.usage.by_resource[kCpu].mean == doctest::Approx((first + last) / 2));
    CHECK(span.usage.by_resource[kMemory].count == 0);
    CHECK(span.threads.count == span.usage.by_resource[kCpu].count);
    samples += span.threads.count;
  }
  CHECK(samples == 120);
}

TEST_CASE("memory is bounded by the buffer, whatever comes") {
  std::mt19937 random(4);
  Trace trace;
  for (uint32_t i = 0; i < 5000; ++i) {
    const Part part{1 + i, 1};
    trace.add(i * kSecond, std::span(&part, 1), 1);
  }
  PhaseBook book;
  const Watched watched = watch(book, trace, 80);
  CHECK(watched.most_buffered <= 80);
  CHECK(watched.spans.empty());
  CHECK(book.size() == 0);
}

// A phase is left after two epochs that do not match, and the last one that matched is kept.
TEST_CASE("memory is bounded by three epochs, if they are longer than the buffer") {
  const std::vector<Kind> kinds = {{100, {1, 1}, 2}, {200, {1, 1}, 2}, {100, {3, 1}, 2}};
  PhaseBook book;
  const std::vector<Planted> order = {{0, 600}, {2, 200}, {0, 600}, {1, 70}, {0, 400}, {2, 130}, {0, 600}};
  const Trace trace = test::trace_of(kinds, order, {.foreign = 0.02}, 1);
  REQUIRE(book.add({Profile(trace, 0, 600), 64}));
  const Watched watched = watch(book, trace, 20);
  CHECK(watched.most_buffered > 2 * 64);
  CHECK(watched.most_buffered <= 192);
}

// 40 samples of a phase, some with other shares of its functions, which end it, and some of another function.
Trace with_other_shares(size_t other_shares, size_t others) {
  Trace trace;
  const auto add = [&](size_t samples, const std::vector<Part> &parts) {
    for (size_t i = 0; i < samples; ++i) trace.add(static_cast<int64_t>(trace.size() + 1) * kSecond, parts, 4);
  };
  add(40, {{100, 2}, {101, 2}});
  add(other_shares, {{100, 3.88}, {101, 0.12}});
  add(others, {{200, 4}});
  return trace;
}

TEST_CASE("the last samples of a phase are a part of it although nothing is found at the end of the process") {
  for (size_t others = 2; others <= 5; ++others) {
    CAPTURE(others);
    const Trace trace = with_other_shares(4, others);
    PhaseBook book;
    REQUIRE(book.add({Profile(trace, 0, 40), 2}));
    const Watched watched = watch(book, trace);
    REQUIRE(watched.spans.size() == 1);
    CHECK(watched.spans.begin()->second.end_ns == 44 * kSecond);
  }
}

TEST_CASE("a phase keeps as many samples as a phase has, although the first ones are of the phase before") {
  const Trace trace = with_other_shares(2, 2);
  PhaseBook book;
  REQUIRE(book.add({Profile(trace, 0, 40), 1}));
  REQUIRE(book.add({Profile(trace, 42, 44), 1}));
  const Watched watched = watch(book, trace);
  REQUIRE(watched.spans.size() == 2);
  CHECK(watched.spans.begin()->second.end_ns == 41 * kSecond);
  CHECK(watched.spans.rbegin()->second.threads.count == 3);
}

TEST_CASE("a full book learns nothing more") {
  PhaseBook book;
  for (uint32_t i = 0; i < kMaxPhases; ++i) CHECK(book.add({Profile({{i + 1, 10}}, {}), 1}));
  CHECK_FALSE(book.add({Profile({{1000, 10}}, {}), 1}));
  CHECK_FALSE(book.number_of({Profile({{1000, 10}}, {}), 1}));
  CHECK(book.number_of({Profile({{7, 10}}, {}), 1}) == 6);
}

TEST_CASE("occurrences of a process do not overlap and are in order, for any order of phases") {
  std::mt19937 random(6);
  for (uint32_t seed = 0; seed < 40; ++seed) {
    PhaseBook book;
    std::vector<Planted> order;
    for (int i = 0; i < 8; ++i) order.push_back({random() % kKinds.size(), 3 + random() % 70});
    order.push_back({random() % kKinds.size(), 5 + random() % 5});
    const Watched watched = watch(book, test::trace_of(kKinds, order, {.foreign = 0.2, .threads = 2}, seed), 60);
    int64_t end = 0;
    for (const auto &[start, span] : watched.spans) {
      CHECK(start >= end);
      CHECK(span.end_ns > start);
      CHECK(span.threads.count >= static_cast<double>(MineOptions{}.min_known));
      end = span.end_ns;
    }
  }
}

}  // namespace
}  // namespace atalaya::phases
