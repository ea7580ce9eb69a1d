// SPDX-License-Identifier: Apache-2.0
// Tables of measurements during tasks, a row for each value of the index of the correlation.
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

using Rows = std::vector<Windows>;  // each is one row
// By name, a value per row; absent if unknown.
using Columns = std::map<std::string, std::vector<std::optional<double>>>;

// The metrics' averages. Throws TooMuch after the time limit.
Columns columns_of(const Metrics &metrics, const Rows &rows, const query::Budget &budget);
// Values reported by tasks, a row each, and counters of their framework.
void add_tasks(Columns &columns, const JobData &data, const std::vector<uint32_t> &tasks);
void add_counters(Columns &columns, const Counters &counters, const std::vector<uint32_t> &tasks);
// Columns that (nearly) all rows have, and the rows that have all of these; the index keeps the values of these rows.
Table table_of(const Columns &columns, std::vector<double> &index);

// Instructions per cycle as sampled in some windows of one host, at most about `most`, with their rows.
struct Samples {
  Rows rows;
  std::vector<double> ipc;
};
Samples samples_of(const Metrics &metrics, const Windows &windows, size_t most, const query::Budget &budget);

}  // namespace atalaya::jobs
