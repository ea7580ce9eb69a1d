// SPDX-License-Identifier: Apache-2.0
// Derives the task that a thread or process runs from its name or command line, as the tags that spans of its framework have.
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

// The tags of a task; unknown ones are empty.
struct TaskTags {
  std::string job, stage, task, attempt;
  bool empty() const { return task.empty() && attempt.empty(); }
  auto operator<=>(const TaskTags &) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 reads a 0 into it
};

// Recognises the names of threads that run tasks: threads of Spark's executors, and threads that match a pattern, such as
// "~^query-(?P<task>[0-9]+)". The groups job, stage, task and attempt are tags; a pattern must have task or attempt. Matching
// needs time linear in the name.
class TaskNames {
 public:
  static constexpr size_t kMaxPatterns = 7;

  static core::Result<TaskNames> parse(std::span<const std::string> patterns);
  TaskNames(TaskNames &&) noexcept;
  TaskNames &operator=(TaskNames &&) noexcept;
  ~TaskNames();

  // The tags from the first pattern that matches; Spark's names are tried last.
  std::optional<TaskTags> of_thread(std::string_view name) const;
  // Returns prefixes such that each matching name starts with one of them.
  std::vector<std::string> prefixes() const;

 private:
  struct Pattern;
  TaskNames();
  std::vector<Pattern> patterns_;
};

// The tags of a MapReduce attempt from the arguments of its process, separated by NULs; for a Spark executor only the job.
TaskTags of_process(std::string_view command_line);
TaskTags of_process(int32_t pid);

}  // namespace atalaya::tasks
