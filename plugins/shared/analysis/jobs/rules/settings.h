// SPDX-License-Identifier: Apache-2.0
// Proposed values of settings.
#pragma once

#include <string>
#include <string_view>

#include "plugins/shared/analysis/jobs/rules/rule.h"

namespace atalaya::jobs {

// "512m" -> "1g", "1024" -> "2048"; "" if it is not a size.
std::string doubled(std::string_view size);
// Twice the present value. `standard`: the framework's default.
Advice more_memory(const RuleJob &job, const std::string &key, const std::string &standard);
// The number of tasks of a stage of Spark.
Advice more_partitions(const RuleJob &job, uint32_t stage, size_t count);

}  // namespace atalaya::jobs
