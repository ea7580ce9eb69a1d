// SPDX-License-Identifier: Apache-2.0
// Absolute rules: what holds on all nodes alike, compared with a fixed limit. Each names its source, and each of its causes has the
// time by which the job would be shorter, from the replay. docs/how-to/jobs.md has the table.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plugins/shared/analysis/jobs/rules/advice.h"
#include "plugins/shared/analysis/jobs/rules/rule_job.h"

namespace atalaya::jobs {

// Something that makes the job longer.
struct Cause {
  uint32_t stage = 0;  // 0: several, or none
  std::string text;    // with the measured number
  double seconds = 0;  // by which the job would be shorter at most
  std::vector<std::string> evidence;
  std::vector<Advice> advice;
  std::vector<uint32_t> tasks;
};

struct Measured {
  double value = std::numeric_limits<double>::quiet_NaN();  // NaN: nothing reports it
  std::vector<Cause> causes;                                // the largest first
};

struct Rule {
  const char *name;
  const char *framework;  // whose jobs it compares; "": of all
  const char *measure;    // of the value: "share of the tasks' time"
  const char *unit;       // "%": the value is a share
  double limit;
  const char *source;  // of the limit
  Measured (*measured)(const RuleJob &job, const Rule &rule);
  enum class EffectOf { none, failing_node, small_tasks } effect_of = EffectOf::none;  // if there is that finding, it is the cause
};

std::span<const Rule> rules();

}  // namespace atalaya::jobs
