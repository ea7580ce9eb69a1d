// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/phases/tables.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/text/safe_text.h"

namespace atalaya::phases {
namespace {

// A merge takes three times the time of the load before it; all names are long. Of a short pause between two merges nothing is
// known.
std::vector<ProgramRun> runs_with(size_t count, const std::vector<std::string> &phases) {
  constexpr int64_t kSecond = 1'000'000'000;
  std::vector<ProgramRun> runs;
  for (size_t i = 0; i < count; ++i) {
    ProgramRun run{"h", "Sort", std::to_string(i), {}};
    int64_t now = static_cast<int64_t>(10'000 * i), size = 100 + static_cast<int64_t>(40 * i);
    for (const std::string &phase : phases) {
      Step step{phase, {}, {}};
      step.occurrence.start_ns = now * kSecond;
      step.occurrence.end_ns = (now += size) * kSecond;
      size *= 3;
      for (int sample = 0; sample < 50; ++sample) {
        step.occurrence.threads.add(4);
        ResourceValues values;
        values.values.fill(static_cast<double>(1000 + sample));
        step.occurrence.usage.add(values);
      }
      const std::string function = "org.example.very.long.name.of.a.package.Reader$Splitter.readNextRecordOf" + phase;
      step.functions[function] = static_cast<double>(size);
      run.steps.push_back(std::move(step));
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

const std::vector<std::string> kPhases = {"Reader$Splitter.load-0001", "Reader$Splitter.merge-0002"};

size_t widest(const std::string &table) {
  size_t maximum = 0;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) maximum = std::max(maximum, core::display_width(line));
  return maximum;
}

TEST_CASE("tables of models, predictions and runs have 80 columns, whatever the names of functions are") {
  const std::vector<ProgramRun> runs = runs_with(15, kPhases);
  const Models models(runs);
  const std::string trained = models_table(models, "Sort");
  CHECK(trained.find("inputs:") != std::string::npos);
  CHECK(widest(trained) <= 80);
  CHECK(widest(predictions_table(runs.back(), models)) <= 80);
  CHECK(widest(runs_table(runs)) <= 80);
}

TEST_CASE("without enough runs the table of models says so") {
  CHECK(models_table(Models(runs_with(3, kPhases)), "Sort") ==
        "no model of Sort: each phase needs 8 runs with the same phases before it\n");
}

TEST_CASE("each phase of a prediction has its own heading") {
  const std::vector<ProgramRun> runs = runs_with(15, {"load-0001", "merge-0002", "merge-0002"});
  const std::string table = predictions_table(runs.back(), Models(runs));
  size_t headings = 0;
  for (size_t at = table.find("\nmerge-0002\n"); at != std::string::npos; at = table.find("\nmerge-0002\n", at + 1)) ++headings;
  CHECK(headings == 2);
}

TEST_CASE("names in tables do not act on a terminal") {
  std::vector<ProgramRun> runs = runs_with(15, {"load\x1b[2J", "merge\x1b[2J"});
  for (ProgramRun &run : runs) run.pid = "7\x1b[2J";
  const Models models(runs);
  for (const std::string &table : {models_table(models, "Sort"), predictions_table(runs.back(), models), runs_table(runs)}) {
    CHECK(table.find("\\x1b[2J") != std::string::npos);
    CHECK(table.find('\x1b') == std::string::npos);
  }
}

}  // namespace
}  // namespace atalaya::phases
