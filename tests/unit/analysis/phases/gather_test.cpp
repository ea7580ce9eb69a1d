// SPDX-License-Identifier: Apache-2.0
// The law of gaps: no phase reaches over windows that are missing, in `phases learn` as in the translator (translator_test.cpp).
#include "plugins/shared/analysis/phases/gather.h"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "plugins/commands/phases/learn.h"
#include "tests/unit/store/query/memory_store.h"

namespace atalaya::phases {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

// Windows of one second of a process, by their end, each with a stack.
struct StoredStacks final : query::test::MemoryStore {
  std::vector<std::pair<int64_t, std::string>> windows;
  void whole_stacks(const store::Selection &, const std::function<void(const store::Stack &)> &visitor) override {
    const store::Tags tags = {{"host", "h"}, {"pid", "7"}, {"process", "Sort"}, {"profile", "wall"}};
    const std::vector<store::Field> fields = {{"profile.samples", false, 2, 0}};
    for (const auto &[end, folded] : windows) visitor({end * kSecond, kSecond, 0, 0, tags, folded, fields});
  }
  void add(int64_t begin, int64_t end, const std::string &folded) {
    for (int64_t i = begin; i < end; ++i) windows.emplace_back(i + 1, folded);
  }
};

struct Learned {
  size_t runs = 0;
  std::vector<std::pair<int64_t, int64_t>> phases;  // in seconds
};

Learned learned(StoredStacks &stored) {
  PhaseDatabase database;
  query::Budget budget{query::Limits()};
  const std::vector<Group> groups;
  const Wanted wanted{{}, {0, std::numeric_limits<int64_t>::max()}, ""};
  std::vector<ProcessTrace> traces = read_traces(stored, wanted, Key::function, groups, database.symbols(), budget);
  Learned found{traces.size(), {}};
  for (const LearnedRun &run : learn(std::move(traces), Key::function, {}, database))
    for (const StoredOccurrence &one : run.occurrences) {
      found.phases.emplace_back(one.occurrence.start_ns / kSecond, one.occurrence.end_ns / kSecond);
      CHECK(one.occurrence.threads.count == static_cast<double>(found.phases.back().second - found.phases.back().first));
    }
  return found;
}

TEST_CASE("a phase that is learned does not reach over a gap") {
  for (const int64_t gap : {1, 20, 1000}) {
    CAPTURE(gap);
    StoredStacks stored;
    stored.add(0, 50, "main;read");
    stored.add(50 + gap, 100 + gap, "main;read");
    stored.add(100 + gap, 150 + gap, "main;sort");
    const Learned found = learned(stored);
    CHECK(found.runs == (gap > 600 ? 2 : 1));  // a pid that is used again is another run
    CHECK(found.phases == std::vector<std::pair<int64_t, int64_t>>{{0, 50}, {50 + gap, 100 + gap}, {100 + gap, 150 + gap}});
  }
}

TEST_CASE("a part of a phase beside a gap that is shorter than a phase is none") {
  StoredStacks stored;
  stored.add(0, 50, "main;read");
  stored.add(60, 64, "main;read");
  stored.add(70, 120, "main;read");
  CHECK(learned(stored).phases == std::vector<std::pair<int64_t, int64_t>>{{0, 50}, {70, 120}});
}

}  // namespace
}  // namespace atalaya::phases
