// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/phases/watch/watch.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

namespace atalaya::phases {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

// A phase with a window of one second and this much CPU time, in per cent of a core.
Step step(const std::string &phase, int64_t start, int64_t end, bool is_open, double cpu = 100) {
  Step made{phase, {}, {}};
  made.occurrence.start_ns = start * kSecond;
  made.occurrence.end_ns = end * kSecond;
  made.occurrence.is_open = is_open;
  for (int64_t i = start; i < end; ++i) {
    made.occurrence.threads.add(1);
    ResourceValues values;
    values.values[kCpu] = cpu;
    made.occurrence.usage.add(values);
  }
  return made;
}

std::vector<ProgramRun> normal_runs(const std::string &) {
  std::vector<ProgramRun> runs;
  for (int64_t i = 0; i < 12; ++i)
    runs.push_back(
        {"h", "Sort", std::to_string(i), {step("Sort.merge-0001", 1000 * i - 20'000, 1000 * i - 19'960 + i % 4, false)}});
  return runs;
}

// A store with one process, besides normal runs.
struct FakeRuns final : WatchedRuns {
  std::function<std::vector<ProgramRun>(const std::string &)> of_program = normal_runs;
  std::vector<Step> steps;
  size_t reads = 0;
  std::vector<std::string> functions_of;  // phases
  std::function<bool(const Step &)> has_functions = [](const Step &) { return true; };

  std::vector<ProgramRun> normal(const std::string &process) override { return of_program(process); }
  std::vector<ProgramRun> since(const ProgramRun &, int64_t from_ns) override {
    ++reads;
    return {{"h", "Sort", "7", steps_since(from_ns)}};
  }
  std::vector<Step> steps_since(int64_t from_ns) const {
    std::vector<Step> later;
    std::copy_if(steps.begin(), steps.end(), std::back_inserter(later),
                 [&](const Step &one) { return one.occurrence.end_ns > from_ns; });
    return later;
  }
  bool read_functions(const ProgramRun &, Step &step) override {
    functions_of.push_back(step.phase);
    return has_functions(step);
  }
};

struct Watched {
  PhaseDatabase database;
  FakeRuns source;
  Watcher watcher{database, source};
  std::string look(std::vector<Step> steps, int64_t now, int64_t from = 0) {
    return watcher.new_lines({{"h", "Sort", "7", std::move(steps)}}, (from - 600) * kSecond, now * kSecond);
  }
};

TEST_CASE("watch reports a begin and an end once, and no end before its first look") {
  Watched watched;
  const Step load = step("Sort.load-0002", 100, 120, false);
  CHECK(watched.look({load}, 200).empty());
  const std::string began = watched.look({load, step("Sort.merge-0001", 120, 125, true)}, 201);
  CHECK(began == "1970-01-01T00:02:00Z Sort 7: phase Sort.merge-0001 began\n");
  CHECK(watched.look({load, step("Sort.merge-0001", 120, 150, true)}, 202).empty());
  const std::vector<Step> all = {load, step("Sort.merge-0001", 120, 161, false), step("Sort.flush-0003", 161, 165, true)};
  CHECK(watched.look(all, 203) ==
        "1970-01-01T00:02:41Z Sort 7: phase Sort.merge-0001 ended after 41.0 s\n"
        "1970-01-01T00:02:41Z Sort 7: phase Sort.flush-0003 began\n");
  CHECK(watched.look(all, 204).empty());
}

TEST_CASE("watch does not report the end of a phase that continues") {
  Watched watched;
  CHECK(watched.look({}, 100).empty());
  CHECK(watched.look({step("Sort.merge-0001", 100, 110, false)}, 111).empty());
  CHECK(watched.look({step("Sort.merge-0001", 100, 115, true)}, 116).ends_with(" began\n"));
  CHECK(watched.look({step("Sort.merge-0001", 100, 141, false)}, 150).empty());
  CHECK(watched.look({step("Sort.merge-0001", 100, 141, false)}, 151).ends_with(" ended after 41.0 s\n"));
}

TEST_CASE("watch reports the end of a phase again when later spans were merged into it") {
  Watched watched;
  CHECK(watched.look({}, 100).empty());
  CHECK(watched.look({step("Sort.merge-0001", 100, 200, false)}, 300).find(" ended after 100.0 s\n") != std::string::npos);
  CHECK(
      watched.look({step("Sort.merge-0001", 100, 200, false), step("Sort.merge-0001", 300, 310, true)}, 311).ends_with(" began\n"));
  CHECK(watched.look({step("Sort.merge-0001", 100, 400, false)}, 500).find(" ended after 300.0 s\n") != std::string::npos);
  CHECK(watched.look({step("Sort.merge-0001", 300, 400, false)}, 4000).empty());  // its first span is older than an hour
}

TEST_CASE("a run in progress when watch begins is no normal one") {
  const auto judged = [](int64_t end) {
    Watched watched;
    watched.source.of_program = [end](const std::string &process) {
      std::vector<ProgramRun> runs = normal_runs(process);
      runs.push_back({"h", "Sort", "7", {step("Sort.merge-0001", 20'000, end, false)}});
      return runs;
    };
    CHECK(watched.look({}, 20'060).empty());
    return watched.look({step("Sort.merge-0001", 20'000, 20'200, false)}, 20'300);
  };
  CHECK(judged(20'200).find("x the time of normal runs") != std::string::npos);
  CHECK(judged(20'050) != judged(20'200));  // one that has ended counts
}

TEST_CASE("watch says of a phase that is not normal by how much") {
  Watched watched;
  CHECK(watched.look({}, 100).empty());
  const std::string new_lines = watched.look({step("Sort.merge-0001", 100, 220, false)}, 300);
  CHECK(new_lines.find("ended after 120.0 s\n    phase Sort.merge took ") != std::string::npos);
  CHECK(new_lines.find("x the time of normal runs: 120 s instead of 41.5 s\n") != std::string::npos);
}

// A merge takes twice the time of the load before it.
std::vector<ProgramRun> normal_pairs(const std::string &) {
  std::vector<ProgramRun> runs;
  for (int64_t i = 0; i < 15; ++i) {
    const int64_t begin = 100'000 * i - 2'000'000, load = 1000 + 400 * i;
    runs.push_back(
        {"h",
         "Sort",
         std::to_string(i),
         {step("Sort.load-0002", begin, begin + load, false), step("Sort.warm-0004", begin + load, begin + load + 30, false),
          step("Sort.merge-0001", begin + load + 30, begin + 3 * load + 30, false)}});
  }
  return runs;
}

// The law: what was read of a run does not change the verdict, however long ago the phases before it were.
TEST_CASE("a phase is compared with the phases before it, although they are older than what was read") {
  for (const int64_t load : {1000, 3000, 5000}) {
    for (const int64_t merge : {2 * load, 6 * load}) {
      CAPTURE(load);
      CAPTURE(merge);
      const int64_t begin = 1'000'000, end = begin + load + 30 + merge;
      const auto new_lines = [&](int64_t from) {
        Watched watched;
        watched.source.of_program = normal_pairs;
        watched.source.steps = {step("Sort.load-0002", begin, begin + load, false),
                                step("Sort.warm-0004", begin + load, begin + load + 30, false),
                                step("Sort.merge-0001", begin + load + 30, end, false)};
        CHECK(watched.look({}, begin - 1).empty());
        const std::string said = watched.look(watched.source.steps_since(from * kSecond), end + 20, from);
        CHECK(watched.source.functions_of.size() <= 2 * 3);
        CHECK(watched.source.reads <= 2 * 2);
        return said.substr(said.find("phase Sort.merge-0001 ended"));
      };
      const std::string whole = new_lines(begin - 1000);
      CHECK((whole.find(" took ") == std::string::npos) == (merge == 2 * load));
      for (const int64_t from : {begin + load / 2, begin + load + 10, begin + load + 100, end - 10})
        CHECK(new_lines(from) == whole);
    }
  }
}

// The first phase of what was read may have others before it.
TEST_CASE("the store is not read for phases that no model uses") {
  const auto watched_with = [](std::vector<ProgramRun> (*normal)(const std::string &), const std::string &last) {
    Watched watched;
    watched.source.of_program = normal;
    const std::vector<Step> steps = {step("Sort.load-0002", 1000, 1030, false), step(last, 1030, 1150, false)};
    CHECK(watched.look({steps[0]}, 1200).empty());
    CHECK(watched.look(steps, 1300, 1500).find(last + " ended after 120.0 s\n    ") != std::string::npos);
    return watched;
  };
  CHECK(watched_with(normal_runs, "Sort.merge-0001").source.reads == 0);  // no phase depends on an input
  const Watched unknown = watched_with(normal_pairs, "Sort.flush-0003");  // without a model
  CHECK(unknown.source.reads == 0);
  CHECK(unknown.source.functions_of == std::vector<std::string>{"Sort.flush-0003"});  // it is new, and its own say where
}

TEST_CASE("watch says how long a phase was although its begin is older than what was read") {
  Watched watched;
  watched.source.steps = {step("Sort.merge-0001", 1000, 9000, false)};
  CHECK(watched.look({}, 100).empty());
  CHECK(watched.look({step("Sort.merge-0001", 5400, 9000, false)}, 9100, 5500).find("ended after 8000.0 s\n") != std::string::npos);
}

// Zero threads in a function would be an input as any other.
TEST_CASE("a phase is compared without its own functions, and not without those that it is predicted from") {
  for (const std::string unknown : {"Sort.merge-0001", "Sort.load-0002"}) {
    CAPTURE(unknown);
    Watched watched;
    watched.source.of_program = normal_pairs;
    watched.source.has_functions = [&](const Step &step) { return step.phase != unknown; };
    const std::vector<Step> steps = {step("Sort.load-0002", 1000, 2000, false), step("Sort.warm-0004", 2000, 2030, false),
                                     step("Sort.merge-0001", 2030, 8030, false)};
    CHECK(watched.look({}, 100).empty());
    const std::string new_lines = watched.look(steps, 9000);
    const std::string said = new_lines.substr(new_lines.find("phase Sort.merge-0001 ended"));
    CHECK((said.find(" took ") == std::string::npos) == (unknown == "Sort.load-0002"));
    CHECK((said.find("not compared: the functions of a phase before it are unknown\n") != std::string::npos) ==
          (unknown == "Sort.load-0002"));
  }
}

TEST_CASE("names of phases and processes do not act on a terminal") {
  Watched watched;
  CHECK(watched.look({}, 100).empty());
  const std::string new_lines =
      watched.watcher.new_lines({{"h", "Sort", "7\x1b[2J", {step("a\nb", 100, 110, true)}}}, -1, 111 * kSecond);
  CHECK(new_lines == "1970-01-01T00:01:40Z Sort 7\\x1b[2J: phase a\\x0ab began\n");
}

}  // namespace
}  // namespace atalaya::phases
