// SPDX-License-Identifier: Apache-2.0
// Compares jobs with the absolute rules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/shared/analysis/jobs/findings/findings.h"
#include "plugins/shared/analysis/jobs/rules/rule.h"
#include "plugins/shared/store/query/budget.h"

namespace atalaya::jobs {

// The result of a rule for a job.
struct RuleValue {
  const Rule *rule = nullptr;
  double value = 0;  // NaN: not compared, because nothing reports it
};

struct ComparedJob {
  uint32_t job = 0;  // its index
  double least = 0;  // seconds: smaller causes are not reported
  double from_first_task = 0;
  std::vector<RuleValue> rules;
};

// "without this, the job would take up to 18.7 s (26 %) less time"; "" if the summary has this already, or it is not known.
// `job_seconds`: the length of the job.
std::string saving_text(const Finding &finding, double job_seconds);
// "garbage collection 2.3 % (10 %)", with the limit
std::string value_text(const RuleValue &value);
// The compared values, and how large a cause would have been reported.
std::vector<std::string> compared_texts(const ComparedJob &job);

// Adds skew and the causes of the rules to the findings of each job, and the seconds of the job to all. `seconds`: the length of
// each job; 0: it runs, and is left out.
std::vector<ComparedJob> add_rules(std::vector<Finding> &findings, const JobData &data, const std::vector<Group> &groups,
                                   const std::vector<double> &seconds, query::Budget &budget);

}  // namespace atalaya::jobs
