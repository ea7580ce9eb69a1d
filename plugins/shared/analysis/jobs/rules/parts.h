// SPDX-License-Identifier: Apache-2.0
// Rules about a part of the tasks' time that a setting or another program would avoid.
#pragma once

#include "plugins/shared/analysis/jobs/rules/rule.h"

namespace atalaya::jobs {

Measured garbage_collection(const RuleJob &job, const Rule &rule);
Measured spill(const RuleJob &job, const Rule &rule);
Measured scheduler_delay(const RuleJob &job, const Rule &rule);
Measured python_workers(const RuleJob &job, const Rule &rule);
Measured deserialization(const RuleJob &job, const Rule &rule);
Measured results(const RuleJob &job, const Rule &rule);
Measured fetch_wait(const RuleJob &job, const Rule &rule);

}  // namespace atalaya::jobs
