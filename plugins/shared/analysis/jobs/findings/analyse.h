// SPDX-License-Identifier: Apache-2.0
// The analysis of jobs: slow tasks, phases and nodes, and the reasons.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "plugins/shared/analysis/jobs/findings/findings.h"
#include "plugins/shared/analysis/jobs/model/nodes.h"
#include "plugins/shared/analysis/jobs/rules/find_rules.h"

namespace atalaya::jobs {

// A job as a whole.
struct JobTotals {
  uint32_t job = 0;
  size_t tasks = 0, failed = 0, killed = 0, running = 0;    // attempts
  bool has_end = false;                                     // a span of the job with an end; else its tasks define the length
  double seconds = 0;                                       // from its start to its end; 0 while it runs
  double of_tasks = 0;                                      // from the start of the first to the end of the last; 0 while it runs
  double bytes = std::numeric_limits<double>::quiet_NaN();  // NaN: no task reports any
};

// The speed of a stage, or of a phase of it, before and after a change.
struct Compared {
  uint32_t stage = 0, phase = 0;
  double before = 0, after = 0;  // all KiB by all seconds; medians would hide a slow node
};

struct Analysis {
  JobData data;
  std::vector<JobTotals> totals;  // by job
  std::vector<Group> groups;
  std::vector<PhaseRank> ranks;
  std::vector<Node> nodes;
  std::vector<RegionCost> regions;
  std::vector<Finding> findings;
  std::vector<ComparedJob> compared;  // jobs that have ended, with the rules
  std::vector<std::string> notes;
  std::vector<Grade> grades;      // of whole tasks
  std::vector<double> speeds;     // of tasks; NaN: unknown, and not graded
  std::vector<bool> bottlenecks;  // tasks that a finding names
};

Analysis analyse(JobData data, const DetectOptions &options, store::Store &store, query::Budget &budget);

// Stages and phases that both jobs have.
std::vector<Compared> compare(const Analysis &analysis, uint32_t before, uint32_t after);

}  // namespace atalaya::jobs
