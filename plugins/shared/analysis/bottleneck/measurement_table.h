// SPDX-License-Identifier: Apache-2.0
// Tables of what was measured while tasks ran, a row beside each value of the index that it is to go with.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plugins/shared/analysis/bottleneck/correlate.h"
#include "plugins/shared/analysis/bottleneck/host_metrics.h"
#include "plugins/shared/analysis/bottleneck/read_jobs.h"

namespace atalaya::bottleneck {

using Rows = std::vector<Windows>;  // each is looked at as a whole
// By name, a value a row; absent where it is not known.
using Columns = std::map<std::string, std::vector<std::optional<double>>>;

// The metrics' averages. Throws TooMuch when the time is over.
Columns columns_of(const Metrics &metrics, const Rows &rows, const query::Budget &budget);
// What tasks tell of themselves, a row each, and what their framework counted.
void add_tasks(Columns &columns, const JobData &data, const std::vector<uint32_t> &tasks);
void add_counters(Columns &columns, const Counters &counters, const std::vector<uint32_t> &tasks);
// Columns that (nearly) all rows have, and of those rows that have all of these; of the index what goes with the rows is left.
Table table_of(const Columns &columns, std::vector<double> &index);

// Instructions per cycle as they were sampled in some windows of one host, at most about `most`, and where.
struct Samples {
  Rows rows;
  std::vector<double> ipc;
};
Samples samples_of(const Metrics &metrics, const Windows &windows, size_t most, const query::Budget &budget);

}  // namespace atalaya::bottleneck
