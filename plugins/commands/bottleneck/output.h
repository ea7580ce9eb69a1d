// SPDX-License-Identifier: Apache-2.0
// What the analysis found, as texts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plugins/shared/analysis/bottleneck/analyse.h"
#include "plugins/shared/analysis/query/render.h"

namespace atalaya::bottleneck {

// Two jobs of the same work, before and after a change: their places among the jobs.
struct Change {
  uint32_t before = 0, after = 0;
};

struct Report {
  const Analysis &analysis;
  std::optional<Change> change;
  std::string store, time;  // for people
  const char *clustering = "pam";
};

// Findings, then nodes, phases, regions and slow tasks in columns.
std::string as_table(const Report &report);
// {"jobs":[],"findings":[],"nodes":[],"phases":[],"regions":[],"tasks":[],"notes":[]}: docs/how-to/jobs.md tells what is in them.
std::string as_json(const Report &report);
// One HTML page that needs nothing else.
std::string as_page(const Report &report);

// Tasks that findings name, in rows below one of titles, with the job where there are several, and how many there are: of many the
// first ones.
struct TaskRows {
  std::vector<query::Row> rows;
  size_t all = 0;
};
TaskRows bottleneck_tasks(const Analysis &analysis);

// "job_1", "job_1 (wordcount)"; "" of kNoJob
std::string job_text(const Told &told, uint32_t job);
// "map", "map spill"
std::string group_text(const Told &told, const Group &group);
// How much less time the second one took, of the first's: as jobs, or their tasks where one of them has no end of its own; nothing
// where one runs.
std::optional<double> shorter(const Report &report);
// The same in words: "19 % less time than", "as long as".
std::string time_text(double less);

}  // namespace atalaya::bottleneck
