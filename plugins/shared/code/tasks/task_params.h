// SPDX-License-Identifier: Apache-2.0
// The parameters `tasks` and `task_names` of sources that tag stacks with tasks.
#pragma once

#include <atalaya/plugin.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plugins/shared/code/tasks/task_names.h"

namespace atalaya::tasks {

inline constexpr Param kTaskName[] = {param::string("name", "A regular expression: ~^query-(?P<task>[0-9]+)")};
inline constexpr auto kTasks =
    param::boolean("tasks", "Tags stacks with the tasks that threads and processes run: Spark, MapReduce, task_names")
        .defaults("false");
inline constexpr auto kTaskNames = param::list(
    "task_names", kTaskName, "More names of threads that run tasks, with the groups job, stage, task or attempt; requires tasks");

// Reads both parameters. Null for tasks = false. Throws Failure for invalid values.
inline std::shared_ptr<TaskNames> read_task_names(const Host &host) {
  const std::vector<std::string> patterns = host.texts("task_names");
  auto names = TaskNames::parse(patterns);
  if (!names) throw Failure(Code::bad_config, "task_names: " + names.error());
  if (!patterns.empty() && !host.boolean("tasks")) throw Failure(Code::bad_config, "task_names requires tasks = true");
  return host.boolean("tasks") ? std::make_shared<TaskNames>(std::move(*names)) : nullptr;
}

}  // namespace atalaya::tasks
