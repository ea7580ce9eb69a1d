// SPDX-License-Identifier: Apache-2.0
// Formats the critical path of a job.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "plugins/shared/analysis/jobs/schedule/critical_path.h"
#include "plugins/shared/analysis/jobs/schedule/what_if.h"
#include "plugins/shared/store/query/budget.h"

namespace atalaya::bottleneck {

struct PathReport {
  const jobs::JobData &data;
  uint32_t job = 0;
  jobs::CriticalPath path;
  std::optional<jobs::WhatIf> what_if;
  std::map<std::string, int64_t> waits;  // waiting time of the path's tasks in ns by reason; empty: unknown
};

// Computes the critical path of the job with the index `job`. Throws query::Wrong if it has none.
PathReport path_report(const jobs::JobData &data, uint32_t job, store::Store &store, query::Budget &budget);

std::string as_table(const PathReport &report);
// The report as {"job":"j","seconds":9,"parts":[],"steps":[],"waits":[],"whatIf":{}}; docs/how-to/jobs.md describes it.
std::string as_json(const PathReport &report);

}  // namespace atalaya::bottleneck
