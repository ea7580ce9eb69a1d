// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/phases/mining/mine.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "tests/unit/analysis/phases/traces.h"

namespace atalaya::phases {
namespace {

using test::Kind;
using test::Noise;
using test::Planted;

const std::vector<Kind> kKinds = {
    {100, {6, 3, 1}, 4}, {200, {4, 4, 2}, 4}, {300, {1}, 1}, {100, {6, 3, 1}, 12}, {400, {3, 3, 2, 1, 1}, 8}};

struct Outcome {
  size_t lost = 0, invented = 0;  // boundaries that were not found within one sample; found ones that were not planted
  size_t phases = 0, kinds = 0;
  bool same_names = true;  // equal kinds have equal phases, different ones different phases
};

Outcome outcome_of(const Mined &mined, const std::vector<Planted> &order) {
  Outcome outcome;
  std::vector<size_t> planted, found;
  std::set<size_t> kinds;
  for (size_t at = 0; const Planted &one : order) {
    if (at > 0) planted.push_back(at);
    at += one.samples;
    kinds.insert(one.kind);
  }
  for (const Segment &segment : mined.segments)
    if (segment.begin > 0) found.push_back(segment.begin);
  const auto is_near = [](size_t at, const std::vector<size_t> &others) {
    for (const size_t other : others)
      if (other + 1 >= at && other <= at + 1) return true;
    return false;
  };
  for (const size_t at : planted) outcome.lost += is_near(at, found) ? 0 : 1;
  for (const size_t at : found) outcome.invented += is_near(at, planted) ? 0 : 1;
  outcome.phases = mined.phases.size();
  outcome.kinds = kinds.size();
  std::map<size_t, uint8_t> names;
  std::set<uint8_t> used;
  for (size_t at = 0; const Planted &one : order) {
    const size_t middle = at + one.samples / 2;
    for (const Segment &segment : mined.segments) {
      if (middle < segment.begin || middle >= segment.end) continue;
      const auto [name, is_new] = names.try_emplace(one.kind, segment.phase);
      if (name->second != segment.phase || segment.phase == kNoPhase || (is_new && !used.insert(segment.phase).second))
        outcome.same_names = false;
    }
    at += one.samples;
  }
  return outcome;
}

std::vector<Planted> random_order(std::mt19937 &random, size_t count) {
  std::vector<Planted> order;
  while (order.size() < count) {
    const size_t kind = random() % kKinds.size();
    if (order.empty() || order.back().kind != kind) order.push_back({kind, 20 + random() % 60});
  }
  return order;
}

// The statement on noise. The constants of the miner were chosen on seeds below 40.
TEST_CASE("every planted boundary is found within one sample, and none is invented; with much noise, 995 of 1000") {
  struct Level {
    const char *name;
    Noise noise;
    double wrong = 0;  // the part of the boundaries, at most
  };
  for (const Level &level : {Level{"none", {}}, Level{"5 % foreign", {.foreign = 0.05}}, Level{"threads +-1", {.threads = 1}},
                             Level{"10 % foreign", {.foreign = 0.1}, 0.005}, Level{"15 % foreign", {.foreign = 0.15}, 0.005},
                             Level{"10 % foreign, threads +-1", {.foreign = 0.1, .threads = 1}, 0.005}}) {
    size_t boundaries = 0, lost = 0, invented = 0, wrong_phases = 0, wrong_names = 0, traces = test::rounds(200);
    for (uint32_t seed = 5000; seed < 5000 + traces; ++seed) {
      std::mt19937 random(seed);
      const auto order = random_order(random, 4 + seed % 8);
      const Mined mined = mine(test::trace_of(kKinds, order, level.noise, seed), {});
      const Outcome outcome = outcome_of(mined, order);
      boundaries += order.size() - 1;
      lost += outcome.lost;
      invented += outcome.invented;
      wrong_phases += outcome.phases != outcome.kinds ? 1 : 0;
      wrong_names += outcome.same_names ? 0 : 1;
    }
    std::printf(
        "noise %s: %zu boundaries, %zu lost, %zu invented; of %zu traces %zu with a wrong number of phases, %zu with wrong names\n",
        level.name, boundaries, lost, invented, traces, wrong_phases, wrong_names);
    CAPTURE(level.name);
    const auto maximum = [&](double share, size_t of) { return share == 0 ? 0 : std::max(1.0, share * static_cast<double>(of)); };
    CHECK(static_cast<double>(lost) <= maximum(level.wrong, boundaries));
    CHECK(static_cast<double>(invented) <= maximum(level.wrong, boundaries));
    CHECK(static_cast<double>(wrong_phases) <= maximum(4 * level.wrong, traces));
    CHECK(static_cast<double>(wrong_names) <= maximum(2 * level.wrong, traces));
  }
}

// The phase in the middle of each planted part of a run.
std::vector<uint8_t> names_in(const std::vector<Segment> &segments, const std::vector<Planted> &order) {
  std::vector<uint8_t> names;
  for (size_t at = 0; const Planted &one : order) {
    for (const Segment &segment : segments)
      if (at + one.samples / 2 >= segment.begin && at + one.samples / 2 < segment.end) names.push_back(segment.phase);
    at += one.samples;
  }
  return names;
}

TEST_CASE("runs of a program that are mined together have the same phases, and so has a later run with the known ones") {
  for (uint32_t seed = 0; seed < test::rounds(10); ++seed) {
    std::vector<Trace> runs;
    std::vector<std::vector<Planted>> orders;
    std::mt19937 random(seed);
    for (uint32_t run = 0; run < 6; ++run) {
      // The last phase is too short in most runs to be found there alone.
      orders.push_back({{0, 30 + random() % 40}, {1, 20 + random() % 60}, {4, run == 0 ? size_t{40} : size_t{6}}, {2, 30}});
      runs.push_back(test::trace_of(kKinds, orders.back(), {.foreign = 0.05, .threads = 1}, 1000 * seed + run));
    }
    std::vector<const Trace *> traces;
    for (const Trace &run : runs) traces.push_back(&run);
    const MinedRuns mined = mine(std::span(traces).first(5), {}, {});
    CHECK(mined.phases.size() == 4);
    const std::vector<uint8_t> first = names_in(mined.segments[0], orders[0]);
    CHECK(std::set<uint8_t>(first.begin(), first.end()).size() == 4);
    for (size_t run = 0; run < 5; ++run) CHECK(names_in(mined.segments[run], orders[run]) == first);

    std::vector<Profile> known;
    for (const MinedPhase &phase : mined.phases) known.push_back(phase.profile);
    const MinedRuns later = mine(std::span(traces).last(1), known, {});
    REQUIRE(later.phases.size() == 4);
    const std::vector<uint8_t> names = names_in(later.segments[0], orders[5]);
    REQUIRE(names.size() == 4);
    for (size_t i = 0; i < 4; ++i) CHECK(match(later.phases[names[i]].profile, known[first[i]], {}));
  }
}

// Its samples would distort the phase that they were given to, from which later phases are predicted.
TEST_CASE("a known phase of three samples or more is found between others, where its begin and end are known to a sample") {
  for (uint32_t seed = 0; seed < test::rounds(10); ++seed) {
    const Trace first = test::trace_of(kKinds, {{0, 40}, {1, 30}, {2, 40}}, {.foreign = 0.02}, seed);
    const std::vector<Profile> known{{first, 0, 40}, {first, 40, 70}, {first, 70, 110}};
    for (const size_t samples : {3, 4, 5, 8}) {
      const Trace later = test::trace_of(kKinds, {{0, 20}, {1, samples}, {2, 30}}, {.foreign = 0.02}, seed + 1000);
      const Trace *const other = &later;
      const std::vector<Segment> segments = mine(std::span(&other, 1), known, {}).segments.front();
      REQUIRE(segments.size() == 3);
      CHECK(std::abs(static_cast<double>(segments[1].begin) - 20) <= 1);
      CHECK(std::abs(static_cast<double>(segments[1].end) - static_cast<double>(20 + samples)) <= 1);
    }
  }
}

// A phase whose shares differ from run to run, for example with the speed of a disk: kinds 1 and 2.
const std::vector<Kind> kVaried = {{100, {6, 3, 1}, 4}, {500, {30, 5, 1}, 4}, {500, {10, 5, 8}, 4}, {300, {1}, 1}};

std::vector<Trace> varied_runs(const std::vector<std::vector<size_t>> &kinds, uint32_t seed) {
  std::vector<Trace> runs;
  std::mt19937 random(seed);
  for (const std::vector<size_t> &run : kinds) {
    std::vector<Planted> order;
    for (const size_t kind : run) order.push_back({kind, 30 + random() % 30});
    runs.push_back(test::trace_of(kVaried, order, {.foreign = 0.02}, static_cast<uint32_t>(random())));
  }
  return runs;
}

MinedRuns mined(const std::vector<Trace> &runs, const std::vector<Profile> &known = {}) {
  std::vector<const Trace *> traces;
  for (const Trace &run : runs) traces.push_back(&run);
  return mine(traces, known, {});
}

TEST_CASE("phases that take the place of each other in different runs are one phase, and those of one run are not") {
  for (uint32_t seed = 0; seed < test::rounds(10); ++seed) {
    const MinedRuns varied = mined(varied_runs({{0, 1, 3}, {0, 2, 3}, {0, 2, 3}, {0, 1, 3}, {0, 1, 3}}, seed));
    CHECK(varied.phases.size() == 3);
    for (const std::vector<Segment> &run : varied.segments) {
      CHECK(run.size() == 3);
      CHECK(run[1].phase == varied.segments[0][1].phase);
    }
    CHECK(mined(varied_runs({{0, 1, 3}, {0, 2, 3}, {0, 1, 3, 2}}, seed)).phases.size() == 4);
    CHECK(mined(varied_runs({{0, 1, 3}, {3, 2, 0}, {0, 1, 3}}, seed)).phases.size() == 4);
  }
}

TEST_CASE("a run whose shares differ has the known phase") {
  for (uint32_t seed = 0; seed < test::rounds(10); ++seed) {
    std::vector<Profile> known;
    for (const MinedPhase &phase : mined(varied_runs({{0, 1, 3}, {0, 1, 3}, {0, 1, 3}}, seed)).phases)
      known.push_back(phase.profile);
    REQUIRE(known.size() == 3);
    const MinedRuns later = mined(varied_runs({{0, 2, 3}}, seed + 1000), known);
    REQUIRE(later.phases.size() == 3);
    CHECK(later.phases[1].known == 1);
    CHECK(!later.phases[0].known);
    CHECK(!later.phases[2].known);
    // It is another phase where the known one is in the same run.
    for (const MinedPhase &phase : mined(varied_runs({{0, 1, 3, 2}}, seed + 2000), known).phases) CHECK(!phase.known);
  }
}

TEST_CASE("segments cover the trace once, in order, whatever it contains") {
  std::mt19937 random(9);
  for (int round = 0; round < 60; ++round) {
    Trace trace;
    const size_t size = random() % 300;
    for (size_t i = 0; i < size; ++i) {
      std::vector<Part> parts;
      for (size_t t = random() % 6; t > 0; --t)
        parts.push_back({static_cast<uint32_t>(random() % (1 + round)), static_cast<double>(1 + random() % 3)});
      trace.add(static_cast<int64_t>(i), parts, static_cast<double>(parts.size()));
    }
    const Mined mined = mine(trace, {});
    size_t at = 0;
    for (const Segment &segment : mined.segments) {
      CHECK(segment.begin == at);
      CHECK(segment.end > segment.begin);
      CHECK((segment.phase == kNoPhase || segment.phase < mined.phases.size()));
      at = segment.end;
    }
    CHECK(at == (size < MineOptions{}.minimum ? 0 : size));
  }
}

TEST_CASE("a million different stacks are no phase, and one sample is none") {
  Trace trace;
  for (uint32_t i = 0; i < 3000; ++i) {
    const Part part{1 + i, 1};
    trace.add(i, std::span(&part, 1), 1);
  }
  const Mined mined = mine(trace, {});
  CHECK(mined.phases.empty());
  Trace one;
  const Part part{1, 1};
  one.add(0, std::span(&part, 1), 1);
  CHECK(mine(one, {}).phases.empty());
  CHECK(mine({}, {}).segments.empty());
}

TEST_CASE("epochs are as long as a phase needs to show its functions") {
  const std::vector<Kind> kinds = {{100, {1}, 4}, {200, {1, 1, 1, 1, 1, 1, 1, 1}, 1}};
  const Mined mined = mine(test::trace_of(kinds, {{0, 100}, {1, 400}}, {}, 1), {});
  REQUIRE(mined.phases.size() == 2);
  CHECK(mined.phases[0].epoch == 1);
  CHECK(mined.phases[1].epoch >= 8);
}

TEST_CASE("symbols beyond the limits are one symbol, and their number is known") {
  Symbols symbols(4, 100);
  CHECK(symbols.number_of("a") == 1);
  CHECK(symbols.number_of("b") == 2);
  CHECK(symbols.number_of("a") == 1);
  CHECK(symbols.number_of(std::string(200, 'x')) == Symbols::kOther);
  CHECK(symbols.number_of("c") == 3);
  CHECK(symbols.number_of("d") == Symbols::kOther);
  CHECK(symbols.lost() == 2);
  CHECK(symbols.text(2) == "b");
}

TEST_CASE("a trace without its first samples is the rest") {
  const Trace whole = test::trace_of(kKinds, {{0, 30}, {1, 30}}, {.foreign = 0.2, .threads = 2}, 4);
  Trace trace = whole;
  trace.drop_front(17);
  REQUIRE(trace.size() == 43);
  for (size_t i = 0; i < trace.size(); ++i) {
    const auto parts = trace.parts(i), expected = whole.parts(i + 17);
    CHECK(std::equal(parts.begin(), parts.end(), expected.begin(), expected.end()));
    CHECK(trace.time_ns(i) == whole.time_ns(i + 17));
  }
}

}  // namespace
}  // namespace atalaya::phases
