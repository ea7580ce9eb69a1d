// SPDX-License-Identifier: Apache-2.0
// The critical path of a job as text.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "plugins/shared/analysis/bottleneck/critical_path.h"
#include "plugins/shared/analysis/bottleneck/what_if.h"
#include "plugins/shared/analysis/query/budget.h"

namespace atalaya::bottleneck {

struct PathReport {
  const JobData &data;
  uint32_t job = 0;
  CriticalPath path;
  std::optional<WhatIf> what_if;
  std::map<std::string, int64_t> waits;  // ns, by reason, of the path's tasks; empty: unknown
};

// Throws query::Wrong if the job has no path. `job`: its index.
PathReport path_report(const JobData &data, uint32_t job, store::Store &store, query::Budget &budget);

std::string as_table(const PathReport &report);
// {"job":"j","seconds":9,"parts":[],"steps":[],"waits":[],"whatIf":{}}; docs/how-to/jobs.md describes it.
std::string as_json(const PathReport &report);

}  // namespace atalaya::bottleneck
