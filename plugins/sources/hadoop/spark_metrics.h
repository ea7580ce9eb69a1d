// SPDX-License-Identifier: Apache-2.0
// What Spark measured of a task: its numbers, and the phases that they tell of.
#pragma once

#include "plugins/sources/hadoop/json_values.h"
#include "plugins/sources/hadoop/span.h"

namespace atalaya::hadoop {

// "Task Metrics", of the group's name: nested ones are groups of their own. Numbers only.
void read_metrics(std::string_view group, const JsonObject &metrics, Counters &out, size_t depth = 0);
// The values of accumulators with a name; those of one name are summed. `key`: "Update" of a task, "Value" of a stage. Spark's own
// are left out of a task's, which has them among its metrics.
void read_accumulables(const JsonObject &info, std::string_view key, bool with_internal, Counters &out);
// Bytes, records, GC time of a task that has ended.
void measure_task(const JsonObject &metrics, Span &task);
// Its phases. Spark logs how long each took, in milliseconds, and not when it began: they are placed one after the other.
// getting_result: when the driver began to fetch the result; 0: it came with the task's end.
void add_task_phases(const JsonObject &metrics, const Span &task, int64_t getting_result_ms, Spans &out);

}  // namespace atalaya::hadoop
