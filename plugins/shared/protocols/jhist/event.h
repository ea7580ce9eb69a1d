// SPDX-License-Identifier: Apache-2.0
// Events of MapReduce histories, in a common form.
#pragma once

#include <string>

#include "plugins/shared/protocols/base/span.h"

namespace atalaya::protocols {

struct Event {
  enum class Type { other, job_submitted, job_ended, task_started, task_ended, attempt_started, attempt_ended };
  Type type = Type::other;
  // Absent: empty, and 0 for times, which are in milliseconds.
  std::string job, name, task, attempt, task_type;
  std::string host, places;  // places: of a task's data
  std::string locality;      // in the framework's words
  std::string status;
  std::string error;  // reason of a failure: of an attempt, of a task, diagnostics of a job
  int64_t start = 0, finish = 0, map_finish = 0, shuffle_finish = 0, sort_finish = 0;
  Counters counters, map_counters, reduce_counters;
  std::string problem;  // of a part that could not be read; the rest is valid
};

}  // namespace atalaya::protocols
