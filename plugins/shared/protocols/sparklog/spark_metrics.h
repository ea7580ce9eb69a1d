// SPDX-License-Identifier: Apache-2.0
// Reads Spark's metrics of a task: its counters and phases.
#pragma once

#include "plugins/shared/io/json/json_values.h"
#include "plugins/shared/protocols/base/span.h"

namespace atalaya::protocols {

// Reads the numbers of "Task Metrics"; nested objects become separate groups.
void read_metrics(std::string_view group, const io::JsonObject &metrics, Counters &out, size_t depth = 0);
// Reads the named accumulators and sums those of one name. `key`: "Update" of a task, "Value" of a stage. Spark's internal ones
// are left out for tasks, which have them among their metrics.
void read_accumulables(const io::JsonObject &info, std::string_view key, bool with_internal, Counters &out);
// Sets bytes, records and GC time of an ended task.
void measure_task(const io::JsonObject &metrics, Span &task);
// Appends its phases. Spark logs their durations in milliseconds, not their starts: they are placed one after the other.
// getting_result: start of the driver's fetch of the result; 0: it came with the task's end.
void add_task_phases(const io::JsonObject &metrics, const Span &task, int64_t getting_result_ms, Spans &out);

}  // namespace atalaya::protocols
