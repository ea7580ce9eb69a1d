// SPDX-License-Identifier: Apache-2.0
// Findings: slow nodes, tasks and code regions.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/analysis/evidence/finding.h"
#include "plugins/shared/analysis/jobs/findings/checks.h"
#include "plugins/shared/analysis/jobs/findings/detect.h"
#include "plugins/shared/analysis/jobs/model/phases.h"
#include "plugins/shared/analysis/jobs/model/regions.h"
#include "plugins/shared/analysis/jobs/reasons/correlate.h"
#include "plugins/shared/analysis/jobs/rules/advice.h"

namespace atalaya::jobs {

struct Rule;

// A phase that is slow on a finding's node.
struct SlowPhase {
  size_t group = 0;
  double slower = 0, lost = 0;
};

struct Finding : evidence::Finding {
  enum class Kind { node, tasks, region, rule } kind = Kind::node;
  uint32_t job = 0, stage = 0, phase = 0, host = 0;           // job: index of the job, or kNoJob; phase 0: whole tasks
  uint32_t region = 0;                                        // id of the region's name
  size_t group = 0;                                           // index of the group of the slow tasks
  bool is_overtaken = false;                                  // the tasks were killed because copies on other nodes were faster
  std::vector<uint32_t> tasks;                                // the slow tasks
  double slower = 0, lost = 0;                                // slowdown of the node (NaN if unknown), lost share of the time
  double seconds = std::numeric_limits<double>::quiet_NaN();  // by which the job would be shorter at most; NaN: unknown
  const Rule *rule = nullptr;                                 // of a cause
  std::vector<Advice> advice;
  std::vector<SlowPhase> phases;  // sorted by loss, the largest first
  Reason reason = Reason::none;
  std::vector<std::string> evidence;
  std::vector<Check> checks;
  std::string index;  // the index of the correlation: "ipc", "dps", "" without one
  Correlated metrics;
  Resource leading = Resource::other;  // resource with the largest sum of leading coefficients
};

// Finds slow nodes and single slow tasks. explain.h adds the reasons.
std::vector<Finding> find_slow(const JobData &data, const std::vector<Group> &groups, const std::vector<PhaseRank> &ranks,
                               const DetectOptions &options);
// Returns the name of a group for messages: job "j", stage "map".
std::string name_of(const JobData &data, const Group &group);
// Formats a stage: "map "; "stage 0 " for Spark, which numbers stages; "" for tasks without a stage.
std::string stage_text(const JobData &data, uint32_t stage);
// Finds the critical code regions.
std::vector<Finding> find_regions(const JobData &data, const std::vector<RegionCost> &regions);

}  // namespace atalaya::jobs
