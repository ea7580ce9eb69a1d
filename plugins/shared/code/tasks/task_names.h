// SPDX-License-Identifier: Apache-2.0
// The task that a thread or process runs, from its name or command line, with the tags of the spans of its framework.
#pragma once

#include <compare>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace atalaya::tasks {

// Empty: unknown.
struct TaskTags {
  std::string job, stage, task, attempt;
  bool empty() const { return task.empty() && attempt.empty(); }
  auto operator<=>(const TaskTags &) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 reads a 0 into it
};

// Threads of Spark's executors, and threads that the patterns name: "~^query-(?P<task>[0-9]+)". The groups job, stage, task and
// attempt are tags; a pattern has at least task or attempt. Matching takes time linear in the name.
class TaskNames {
 public:
  static constexpr size_t kMaxPatterns = 7;

  static core::Result<TaskNames> parse(std::span<const std::string> patterns);
  TaskNames(TaskNames &&) noexcept;
  TaskNames &operator=(TaskNames &&) noexcept;
  ~TaskNames();

  // The first pattern that matches, Spark's names last.
  std::optional<TaskTags> of_thread(std::string_view name) const;
  // Each name that can match begins with one of these.
  std::vector<std::string> prefixes() const;

 private:
  struct Pattern;
  TaskNames();
  std::vector<Pattern> patterns_;
};

// An attempt of MapReduce, from the arguments of its process, separated by NULs; for an executor of Spark only the job.
TaskTags of_process(std::string_view command_line);

}  // namespace atalaya::tasks
