// SPDX-License-Identifier: Apache-2.0
// Formats the results of the analysis as table, JSON and HTML.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/analysis/jobs/findings/analyse.h"
#include "plugins/shared/analysis/jobs/job_errors.h"

namespace atalaya::bottleneck {

// Indices of two jobs with the same work, one before and one after a change.
struct Change {
  uint32_t before = 0, after = 0;
};

struct Report {
  const jobs::Analysis &analysis;
  std::optional<Change> change;
  std::string store, time;  // name of the store and time range, for display
  const char *clustering = "pam";
};

// Tables of errors and findings, then of nodes, phases, regions and slow tasks.
std::string as_table(const Report &report);
// The report as {"jobs":[],"errors":[],"findings":[],"nodes":[],"phases":[],"regions":[],"tasks":[],"notes":[]};
// docs/how-to/jobs.md describes it.
std::string as_json(const Report &report);
// One self-contained HTML page.
std::string as_page(const Report &report);

// A table of the tasks in findings. The first row has the titles; there is a column for the job if there are several jobs. `rows`
// has a maximum length; `all` is the number of tasks.
struct TaskRows {
  std::vector<command_line::Row> rows;
  size_t all = 0;
};
TaskRows bottleneck_tasks(const jobs::Analysis &analysis);

// A paragraph for each job that failed completely or partly: "job_1 (wordcount) failed" and the reasons; "" if there is none.
std::string errors_text(const jobs::JobData &data);
// A title such as "job_1 (wordcount) failed" or "job_1 (wordcount) succeeded, but parts of it failed".
std::string title_of(const jobs::JobData &data, const jobs::BrokenJob &job);
// The value with a suitable number of decimals; "" if it is unknown (NaN).
std::string number_text(double value);
// "job_1" or "job_1 (wordcount)"; "" for kNoJob.
std::string job_text(const jobs::JobData &data, uint32_t job);
// The name of a group: stage and phase, such as "map" or "map spill".
std::string group_text(const jobs::JobData &data, const jobs::Group &group);
// Number of tasks of a group, with and without a known speed.
inline size_t tasks_of(const jobs::Group &group) {
  return group.entries.size() + group.without_speed;
}
// Time that the second job saved, divided by the time of the first one. It compares the duration of the jobs, or of their tasks if
// a job has no end. Nothing while a job runs.
std::optional<double> shorter(const Report &report);
// The result of shorter() as text: "19 % less time than" or "as long as".
std::string time_text(double less);

}  // namespace atalaya::bottleneck
