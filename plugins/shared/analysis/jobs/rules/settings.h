// SPDX-License-Identifier: Apache-2.0
// Proposed values of settings.
#pragma once

#include <string>
#include <string_view>

#include "plugins/shared/analysis/jobs/rules/rule.h"

namespace atalaya::jobs {

// "512m" -> "1g", "1024" -> "2048"; "" if it is not a size.
std::string doubled(std::string_view size);
// Twice the present value; only the name if no setting of the job is known. `standard`: the framework's default.
Advice more_memory(const RuleJob &job, const std::string &key, const std::string &standard);
// In local mode, the driver runs the tasks.
Advice more_executor_memory(const RuleJob &job);
// The number of tasks of a stage of Spark.
Advice more_partitions(const RuleJob &job, uint32_t stage, size_t count);

}  // namespace atalaya::jobs
