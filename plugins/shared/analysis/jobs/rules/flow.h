// SPDX-License-Identifier: Apache-2.0
// Rules about time without useful tasks: the driver alone, and work that was done again.
#pragma once

#include "plugins/shared/analysis/jobs/rules/rule.h"

namespace atalaya::jobs {

Measured driver_gaps(const RuleJob &job, const Rule &rule);
Measured repetition(const RuleJob &job, const Rule &rule);

}  // namespace atalaya::jobs
