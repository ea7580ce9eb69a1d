// SPDX-License-Identifier: Apache-2.0
// Restarts neither lose an alert, nor report one twice, nor leave one open.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "tests/unit/rounds.h"
#include "tests/unit/temporary_folder.h"
#include "tests/unit/translators/alerts/rules.h"

namespace atalaya::alerts::test {
namespace {

constexpr int kSteps = 400;

// What a store holds: the last span of each name, tags and start.
using Stored = std::map<std::string, std::string>;
void put(Stored &stored, const Lines &lines) {
  for (std::string line : lines) {
    line = line.substr(0, line.find(" v="));
    const size_t dots = line.rfind("..");
    stored[line.substr(0, dots)] = line.substr(dots + 2);
  }
}

// The alerts of a sequence, by the definition: a plain list of states, nothing of the translator.
Stored expected(const std::vector<double> &values, double above, double clear, int lasts, int keep) {
  Stored alerts;
  int since = -1, start = -1, calm = -1;
  for (int second = 0; second < static_cast<int>(values.size()); ++second) {
    const double value = values[static_cast<size_t>(second)];
    if (start < 0) {
      if (value <= above) since = -1;
      if (value > above && since < 0) since = second;
      if (since >= 0 && second - since >= lasts) {
        start = since;
        calm = -1;
        alerts["r a=1 " + std::to_string(start)] = "";
      }
      continue;
    }
    if (value > clear) calm = -1;
    if (value <= clear && calm < 0) calm = second;
    if (calm >= 0 && second - calm >= keep) {
      alerts["r a=1 " + std::to_string(start)] = std::to_string(calm);
      start = since = -1;
    }
  }
  return alerts;
}

struct Outcome {
  Stored stored;
  size_t opened = 0;  // spans with a new start
};
// A value a second, by an agent that is stopped and started again, or reloaded, where `restarts` says so.
template <class Restarts>
Outcome replayed(const std::vector<double> &values, const core::Value &written, Restarts &&restarts) {
  const TemporaryFolder folder;
  Outcome outcome;
  auto bench = std::make_unique<AlertsBench>(written, folder.path());
  for (size_t second = 0; second < values.size(); ++second) {
    if (restarts()) {
      bench.reset();
      bench = std::make_unique<AlertsBench>(written, folder.path());
    }
    const size_t before = outcome.stored.size();
    put(outcome.stored, step(*bench, static_cast<int64_t>(second), {"a=1 | x=" + std::to_string(values[second])}));
    outcome.opened += outcome.stored.size() - before;
  }
  return outcome;
}

TEST_CASE("random values and restarts: the alerts of an agent that never restarted") {
  std::mt19937 random(17);
  for (int round = 0; round < 40; ++round) {
    const auto number = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
    const int lasts = number(0, 4), keep = number(0, 4);
    const core::Value written = rules({rule("r", "x",
                                            {{"above", testing::number(10)},
                                             {"clear", testing::number(7)},
                                             {"lasts", text(std::to_string(lasts) + "s")},
                                             {"keep", text(std::to_string(keep) + "s")}})},
                                      {{"repeat", text("3s")}});
    std::vector<double> values;
    for (int i = 0; i < kSteps; ++i) values.push_back(i > 0 && number(0, 2) > 0 ? values.back() + number(-3, 3) : number(0, 20));
    const Outcome outcome = replayed(values, written, [&] { return number(0, 15) == 0; });
    const Stored wanted = expected(values, 10, 7, lasts, keep);
    CAPTURE(round);
    CHECK(outcome.stored == wanted);
    CHECK(outcome.opened == wanted.size());
  }
}

TEST_CASE("a day with its curve, noise, twelve incidents and a restart every quarter of an hour has twelve alerts") {
  constexpr int kDay = 8640, kEvery = kDay / 12, kLength = 60;  // in windows of 10 s, which are 1 s here
  for (uint32_t seed = 0; seed < atalaya::test::rounds(5); ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> noise(0, 4);
    std::vector<double> values;
    std::vector<int> begins;
    for (int i = 0; i < kDay; ++i) {
      if (i % kEvery == 0) begins.push_back(i + 100 + static_cast<int>(random() % 400));
      const bool is_incident = i >= begins.back() && i < begins.back() + kLength;
      values.push_back(noise(random) + (is_incident ? 110 : 50 + 20 * std::sin(2 * M_PI * i / kDay)));
    }
    const core::Value written =
        rules({rule("r", "x", {{"above", number(90)}, {"clear", number(85)}, {"lasts", text("6s")}, {"keep", text("30s")}})});
    const Outcome outcome = replayed(values, written, [&] { return random() % 90 == 0; });
    Stored wanted;
    for (const int begin : begins) wanted["r a=1 " + std::to_string(begin)] = std::to_string(begin + kLength);
    CAPTURE(seed);
    CHECK(outcome.stored == wanted);
    CHECK(outcome.opened == 12);
  }
}

TEST_CASE("after a crash the journal has the alerts that fire") {
  const TemporaryFolder folder;
  const core::Value written = rules({rule("r", "x", {{"above", number(10)}})});
  AlertsBench crashed(written, folder.path());
  CHECK(step(crashed, 0, {"a=1 | x=11"}) == Lines{"r a=1 0.. v=11"});
  // The next agent starts while the first one did not stop.
  AlertsBench next(written, folder.path());
  CHECK(step(next, 5, {"a=1 | x=12"}) == Lines{"r a=1 0.. v=12"});
  CHECK(step(next, 6, {"a=1 | x=1"}) == Lines{"r a=1 0..6 v=1"});
  // The end was perhaps not delivered: it is reported once more.
  AlertsBench third(written, folder.path());
  CHECK(step(third, 9, {"a=1 | x=1"}) == Lines{"r a=1 0..6 v=1"});
  CHECK(step(third, 10, {"a=1 | x=1"}).empty());
}

TEST_CASE("a rule that was removed ends its alerts, and a series that did not come back, too") {
  const TemporaryFolder folder;
  {
    AlertsBench bench(rules({rule("old", "x", {{"above", number(10)}})}), folder.path());
    CHECK(step(bench, 0, {"a=1 | x=11"}).size() == 1);
  }
  {
    AlertsBench bench(rules({rule("new", "x", {{"above", number(10)}, {"gone", text("30s")}})}), folder.path());
    CHECK(step(bench, 7, {"a=1 | x=11"}) == Lines{"new a=1 7.. v=11", "old a=1 0..7 v=11"});
  }
  AlertsBench bench(rules({rule("new", "x", {{"above", number(10)}, {"gone", text("30s")}})}), folder.path());
  CHECK(step(bench, 1000, {}) == Lines{"new a=1 7.. v=11", "old a=1 0..7 v=11"});
  CHECK(step(bench, 1029, {}).empty());
  CHECK(step(bench, 1030, {}) == Lines{"new a=1 7..1030 v=11"});
}

TEST_CASE("no condition lasts while the agent was stopped, over several restarts") {
  const TemporaryFolder folder;
  const core::Value written = rules({rule("r", "x", {{"above", number(10)}, {"lasts", text("9s")}})});
  for (int64_t second = 0; second < 3000; second += 1000) {
    AlertsBench bench(written, folder.path());
    CHECK(resume(bench, second, {"a=1 | x=11"}).empty());
    CHECK(step(bench, second + 2, {"a=1 | x=11"}).empty());
  }
  AlertsBench bench(written, folder.path());
  CHECK(resume(bench, 3000, {"a=1 | x=11"}).empty());
  CHECK(step(bench, 3002, {"a=1 | x=11"}).empty());
  CHECK(step(bench, 3003, {"a=1 | x=11"}) == Lines{"r a=1 0.. v=11"});
}

TEST_CASE("a series is absent while the agent restarts more often than the time of the rule") {
  const TemporaryFolder folder;
  const core::Value written = rules({rule("r", "x", {{"absent", text("60s")}, {"by", list({"host"})}})});
  Lines found;
  for (int64_t second = 0; second < 100; second += 10) {
    AlertsBench bench(written, folder.path());
    for (int64_t i = 0; i < 10; ++i)
      for (const std::string &line : step(bench, second + i, second == 0 ? Lines{"host=a | x=1"} : Lines{})) found.push_back(line);
  }
  REQUIRE_FALSE(found.empty());
  CHECK(found.front().starts_with("r host=a 9.."));
  CHECK(std::set<std::string>(found.begin(), found.end()).size() <= 4);
}

TEST_CASE("an alert ends with the texts with which it began, also if its rule changes") {
  const TemporaryFolder folder;
  const auto written = [](const char *summary) {
    return rules({rule("r", "x", {{"above", number(10)}, {"summary", text(summary)}})});
  };
  {
    AlertsBench bench(written("old"), folder.path());
    CHECK(step(bench, 0, {"a=1 | x=11"}).size() == 1);
  }
  AlertsBench bench(written("fresh"), folder.path());
  const auto summaries = [&](int64_t second, const char *value) {
    std::string found;
    for (const std::string &line : bench.process({std::string("a=1 | x=") + value}, second))
      if (line.starts_with("span alert")) found += line.find("summary=old") != std::string::npos ? "old " : "fresh ";
    return found;
  };
  CHECK(summaries(1, "11") == "old ");
  CHECK(summaries(2, "1") == "old ");
  CHECK(summaries(3, "11") == "fresh ");
}

TEST_CASE("a damaged journal is reported, and the agent goes on") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/alerts") << "atalaya alerts 1\nF 1 2\n";
  AlertsBench bench(rules({rule("r", "x", {{"above", number(10)}})}), folder.path());
  CHECK(bench.surroundings.logged.find("/alerts: line 2 is damaged") != std::string::npos);
  CHECK(step(bench, 0, {"a=1 | x=11"}).size() == 1);
}

}  // namespace
}  // namespace atalaya::alerts::test
