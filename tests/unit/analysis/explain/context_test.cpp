// SPDX-License-Identifier: Apache-2.0
// The reasons behind a difference, from stored stacks, flows, phases and facts of a process.
#include "plugins/shared/analysis/explain/context.h"

#include <doctest/doctest.h>

#include "plugins/shared/analysis/explain/explanation.h"
#include "tests/unit/analysis/explain/simulated_host.h"

namespace atalaya::explain::test {
namespace {

constexpr query::Range kBefore{kT0, kT0 + kLength *kSecond}, kAfter{kT0 + kLength * kSecond, kT0 + kEnd *kSecond};
const Tags kJava = {{"host", "h"}, {"process", "java"}, {"pid", "700"}};

// Also stacks, and spans of phases.
class WholeStore : public SimulatedStore {
 public:
  struct Stack {
    int second;
    Tags tags;
    std::string folded;
    int64_t samples;
  };
  struct Phase {
    int from, to;
    Tags tags;
  };
  std::vector<Stack> all_stacks;
  std::vector<Phase> phases;

  void whole_stacks(const store::Selection &selection, const std::function<void(const store::Stack &)> &visitor) override {
    for (size_t i = 0; i < all_stacks.size(); ++i) {
      const Stack &stack = all_stacks[i];
      const int64_t time_ns = kT0 + stack.second * kSecond, number = static_cast<int64_t>(i);
      if (time_ns <= selection.range.from_ns || time_ns > selection.range.to_ns || !fits(stack.tags, selection.tags)) continue;
      store::Field field{};
      field.name = "profile.samples";
      field.is_count = true;
      field.count = stack.samples;
      visitor({time_ns, kSecond, number, number, stack.tags, stack.folded, {&field, 1}});
    }
  }
  void spans(const store::Selection &selection, const std::function<void(const store::Span &)> &visitor) override {
    SimulatedStore::spans(selection, visitor);
    if (selection.metrics.front() != "phase") return;
    for (const Phase &phase : phases)
      if (kT0 + phase.from * kSecond < selection.range.to_ns && kT0 + phase.to * kSecond > selection.range.from_ns &&
          fits(phase.tags, selection.tags))
        visitor({kT0 + phase.from * kSecond, (phase.to - phase.from) * kSecond, 0, phase.tags, "phase", {}});
  }
};

struct Asked {
  WholeStore store;
  query::Budget budget{{}};
  Reader reader{store, budget};
  Side before{kBefore, {}}, after{kAfter, {}};
};

Tags with(Tags tags, const std::string &key, const std::string &value) {
  tags[key] = value;
  return tags;
}

TEST_CASE("functions that grew, as shares of the process's samples") {
  Asked asked;
  const Tags cpu = with(kJava, "profile", "cpu"), other = {{"host", "h"}, {"process", "java"}, {"pid", "7000"}, {"profile", "cpu"}};
  asked.store.all_stacks = {
      {100, cpu, "main;parse", 60},
      {100, cpu, "main;sort", 40},
      {700, cpu, "main;parse", 30},
      {700, cpu, "main;sort", 50},
      {800, cpu, "run;compress", 120},
      {700, other, "main;hog", 900},  // another process with a similar number
      {700, with(cpu, "profile", "offcpu"), "main;wait", 900},
  };
  const auto found = grown_functions(kJava, asked.before, asked.after, 5, asked.reader);
  REQUIRE(found.size() == 1);
  CHECK(found[0].name == "compress");
  CHECK(found[0].before == 0);
  CHECK(found[0].after == doctest::Approx(60));
  // The parts of all functions are those of the whole: what one gains, others lose.
  asked.store.all_stacks.push_back({800, cpu, "main;sort", 200});
  const auto again = grown_functions(kJava, asked.before, asked.after, 5, asked.reader);
  REQUIRE(again.size() == 2);
  CHECK(again[0].name == "compress");
  CHECK(again[0].after == doctest::Approx(30));
  CHECK(again[1].name == "sort");
  CHECK(again[1].before == doctest::Approx(40));
  CHECK(again[1].after == doctest::Approx(62.5));
  CHECK(grown_functions(kJava, asked.before, asked.after, 1, asked.reader).size() == 1);
}

TEST_CASE("few samples say nothing about functions") {
  Asked asked;
  asked.store.all_stacks = {{700, with(kJava, "profile", "cpu"), "main;hog", 19}};
  CHECK(grown_functions(kJava, asked.before, asked.after, 5, asked.reader).empty());
}

TEST_CASE("peers whose traffic changed, in both directions") {
  Asked asked;
  for (const char *name : {"flow.in.bytes", "flow.out.bytes"}) asked.store.declare(name, store::Kind::delta, "By");
  const auto flow = [&](const char *metric, const std::string &remote, double before, double after, const Tags &process = kJava) {
    Values values;
    for (int second = kStep; second <= kEnd; second += kStep)
      values.emplace_back(second, (second <= kLength ? before : after) * kStep * (1 << 20));
    asked.store.add(metric, with(process, "remote", remote), values);
  };
  flow("flow.in.bytes", "10.0.0.1", 1, 1);
  flow("flow.in.bytes", "10.0.0.2", 1, 4);
  flow("flow.out.bytes", "10.0.0.2", 0, 2);
  flow("flow.out.bytes", "10.0.0.3", 3, 0);
  flow("flow.out.bytes", "10.0.0.4", 0, 50, {{"host", "h"}, {"process", "nginx"}, {"pid", "9"}});
  const auto found = changed_peers(kJava, asked.before, asked.after, 5, asked.reader);
  REQUIRE(found.size() == 2);
  CHECK(found[0].remote == "10.0.0.2");
  CHECK(found[0].before == doctest::Approx(1).epsilon(0.01));
  CHECK(found[0].after == doctest::Approx(6).epsilon(0.01));
  CHECK(found[1].remote == "10.0.0.3");
  CHECK(found[1].before == doctest::Approx(3).epsilon(0.01));
  CHECK(found[1].after == doctest::Approx(0));
}

TEST_CASE("phases that the process had only in the range") {
  Asked asked;
  asked.store.phases = {{100, 300, with(kJava, "phase", "map")},
                        {700, 800, with(kJava, "phase", "map")},
                        {800, 900, with(kJava, "phase", "shuffle")},
                        {700, 900, {{"host", "h"}, {"process", "other"}, {"phase", "sort"}}}};
  CHECK(new_phases(kJava, asked.before, asked.after, asked.reader) == std::vector<std::string>{"shuffle"});
}

TEST_CASE("a changed sysctl is a changed fact") {
  Asked asked;
  asked.store.facts = {{0, 650, "kernel.vm.swappiness", "60"},
                       {650, -1, "kernel.vm.swappiness", "1"},
                       {0, -1, "kernel.net.core.somaxconn", "4096"},
                       {700, -1, "disk.sdb.bytes", "1000"}};
  const auto found = changed_facts(asked.before, asked.after, asked.reader);
  REQUIRE(found.size() == 1);
  CHECK(found[0].fact == "kernel.vm.swappiness");
  CHECK(found[0].before == "60");
  CHECK(found[0].after == "1");
  CHECK(found[0].time_ns == kT0 + 650 * kSecond);
}

// The parts of a finding about a process: text and JSON have its functions, peers and phases.
TEST_CASE("an explanation has the reasons of its first part, and changed settings") {
  Host host(3);
  host.add_usual();
  host.add_process("hog", 77, 0, 3, {.user = [](double) { return 98.0; }});
  host.add_host();
  WholeStore whole;
  static_cast<SimulatedStore &>(whole) = host.store;
  const Tags hog = {{"host", "h"}, {"process", "hog"}, {"pid", "77"}};
  whole.all_stacks = {{700, with(hog, "profile", "cpu"), "main;spin", 500}};
  whole.phases = {{650, 1150, with(hog, "phase", "warm up")}};
  whole.facts = {{0, 650, "kernel.vm.swappiness", "60"}, {650, -1, "kernel.vm.swappiness", "1"}};
  query::Budget budget({});
  Reader reader{whole, budget};
  const Explanation explanation = explain({{kAfter, {}}, {kBefore, {}}}, reader);
  const std::string text = as_text(explanation), json = as_json(explanation);
  for (const char *part : {"hog", "spin", "warm up", "kernel.vm.swappiness"}) {
    CHECK_MESSAGE(text.find(part) != std::string::npos, text);
    CHECK_MESSAGE(json.find(part) != std::string::npos, json);
  }
}

}  // namespace
}  // namespace atalaya::explain::test
