// SPDX-License-Identifier: Apache-2.0
// From jobs to what is slow in them, and why.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "plugins/shared/analysis/bottleneck/findings.h"
#include "plugins/shared/analysis/bottleneck/nodes.h"

namespace atalaya::bottleneck {

// A job as a whole.
struct JobTotals {
  uint32_t job = 0;
  size_t tasks = 0, failed = 0, killed = 0, running = 0;    // attempts
  bool has_end = false;                                     // of its own; else its tasks tell how long it was
  double seconds = 0;                                       // from its begin to its end; 0 while it runs
  double of_tasks = 0;                                      // from the begin of the first to the end of the last; 0 while it runs
  double bytes = std::numeric_limits<double>::quiet_NaN();  // NaN: no task tells any
};

// What one stage, or a phase of it, was before and after a change.
struct Compared {
  uint32_t stage = 0, phase = 0;
  double before = 0, after = 0;  // all KiB by all seconds, of which medians would hide those of a slow node
};

struct Analysis {
  JobData data;
  std::vector<JobTotals> totals;  // by job
  std::vector<Group> groups;
  std::vector<PhaseRank> ranks;
  std::vector<Node> nodes;
  std::vector<RegionCost> regions;
  std::vector<Finding> findings;
  std::vector<std::string> notes;
  std::vector<Grade> grades;      // of tasks as a whole
  std::vector<double> speeds;     // of them; NaN: not known, and not graded
  std::vector<bool> bottlenecks;  // tasks that a finding names
};

Analysis analyse(JobData data, const DetectOptions &options, store::Store &store, query::Budget &budget);

// Stages and phases that both jobs have.
std::vector<Compared> compare(const Analysis &analysis, uint32_t before, uint32_t after);

}  // namespace atalaya::bottleneck
