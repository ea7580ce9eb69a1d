// SPDX-License-Identifier: Apache-2.0
// Rules about the number of a stage's tasks.
#pragma once

#include "plugins/shared/analysis/jobs/rules/rule.h"

namespace atalaya::jobs {

Measured few_partitions(const RuleJob &job, const Rule &rule);
// By the run time of tasks.
Measured small_spark_tasks(const RuleJob &job, const Rule &rule);
// By the CPU time of tasks, each of which starts a JVM.
Measured small_mapreduce_tasks(const RuleJob &job, const Rule &rule);

}  // namespace atalaya::jobs
