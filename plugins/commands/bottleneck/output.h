// SPDX-License-Identifier: Apache-2.0
// The results of the analysis as texts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/analysis/jobs/findings/analyse.h"
#include "plugins/shared/analysis/jobs/job_errors.h"

namespace atalaya::bottleneck {

// Two jobs with the same work, before and after a change: their indices among the jobs.
struct Change {
  uint32_t before = 0, after = 0;
};

struct Report {
  const jobs::Analysis &analysis;
  std::optional<Change> change;
  std::string store, time;  // for display
  const char *clustering = "pam";
};

// Errors, findings, then nodes, phases, regions and slow tasks in columns.
std::string as_table(const Report &report);
// {"jobs":[],"errors":[],"findings":[],"nodes":[],"phases":[],"regions":[],"tasks":[],"notes":[]}; docs/how-to/jobs.md describes
// them.
std::string as_json(const Report &report);
// One self-contained HTML page.
std::string as_page(const Report &report);

// The tasks that findings name, in rows below a title row, with the job if there are several jobs. Long lists are cut; `all` is
// the number of tasks.
struct TaskRows {
  std::vector<query::Row> rows;
  size_t all = 0;
};
TaskRows bottleneck_tasks(const jobs::Analysis &analysis);

// "job_1 (wordcount) failed", and below it the reasons, of each job that broke or had parts that broke; "" if there is none.
std::string errors_text(const jobs::JobData &data);
// "job_1 (wordcount) failed", "job_1 (wordcount) succeeded, but parts of it failed"
std::string title_of(const jobs::JobData &data, const jobs::BrokenJob &job);
// "" if it is unknown
std::string number_text(double value);
// "job_1", "job_1 (wordcount)"; "" of kNoJob
std::string job_text(const jobs::JobData &data, uint32_t job);
// "map", "map spill"
std::string group_text(const jobs::JobData &data, const jobs::Group &group);
// With and without a known speed.
inline size_t tasks_of(const jobs::Group &group) {
  return group.entries.size() + group.without_speed;
}
// Time that the second job saved, as a share of the first one's: of the jobs, or of their tasks if a job has no end. Nothing
// while a job runs.
std::optional<double> shorter(const Report &report);
// The same as text: "19 % less time than", "as long as".
std::string time_text(double less);

}  // namespace atalaya::bottleneck
