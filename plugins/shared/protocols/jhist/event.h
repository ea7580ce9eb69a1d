// SPDX-License-Identifier: Apache-2.0
// Events of MapReduce histories, independent of the file format.
#pragma once

#include <string>

#include "plugins/shared/protocols/base/span.h"

namespace atalaya::protocols {

struct Event {
  enum class Type { other, job_submitted, job_ended, task_started, task_ended, attempt_started, attempt_ended };
  Type type = Type::other;
  // Absent texts are empty, absent times 0. Times are in milliseconds.
  std::string job, name, task, attempt, task_type;
  std::string host, places;  // places: hosts with a task's data
  std::string locality;      // as the framework writes it
  std::string status;
  std::string error;  // reason of the failure of an attempt or a task, diagnostics of a job
  int64_t start = 0, finish = 0, map_finish = 0, shuffle_finish = 0, sort_finish = 0;
  Counters counters, map_counters, reduce_counters;
  std::string problem;  // the error of a part that cannot be read; the other parts are valid
};

}  // namespace atalaya::protocols
