// SPDX-License-Identifier: Apache-2.0
// Tables of measurements during tasks. Each row has a value of the index, with which the columns are correlated.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plugins/shared/analysis/jobs/read/host_metrics.h"
#include "plugins/shared/analysis/jobs/read/read_jobs.h"
#include "plugins/shared/analysis/jobs/reasons/correlate.h"

namespace atalaya::jobs {

using Rows = std::vector<Windows>;  // one element per row
// A value per row, by column name; absent if unknown.
using Columns = std::map<std::string, std::vector<std::optional<double>>>;

// Returns the averages of the metrics in each row. Throws TooMuch after the time limit.
Columns columns_of(const Metrics &metrics, const Rows &rows, const query::Budget &budget);
// Adds columns of the values that tasks report and of the counters of their framework, with a row per task.
void add_tasks(Columns &columns, const JobData &data, const std::vector<uint32_t> &tasks);
void add_counters(Columns &columns, const Counters &counters, const std::vector<uint32_t> &tasks);
// Selects the columns that (nearly) all rows have, and the rows that have all of these columns. Removes the values of other
// rows from `index`.
Table table_of(const Columns &columns, std::vector<double> &index);

// Samples of instructions per cycle in some windows of one host, about `maximum` at most, with their rows.
struct Samples {
  Rows rows;
  std::vector<double> ipc;
};
Samples samples_of(const Metrics &metrics, const Windows &windows, size_t maximum, const query::Budget &budget);

}  // namespace atalaya::jobs
