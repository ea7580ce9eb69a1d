// SPDX-License-Identifier: Apache-2.0
// Reads the metrics of a task in Spark's event log: its counters and phases.
// Source: JsonProtocol of Spark 1.0 to 4.0, taskMetricsToJson and accumulableInfoToJson.
//   "Task Metrics":{"Executor Run Time":1494,"Shuffle Read Metrics":{"Remote Bytes Read":77291,..},"Input Metrics":{..},..}
//   "Accumulables":[{"ID":1,"Name":"rows","Update":"3","Value":"3"},..]     Spark 1 writes the numbers as texts
// Times are milliseconds, Shuffle Write Time is nanoseconds.
#pragma once

#include "plugins/shared/io/json/json_values.h"
#include "plugins/shared/protocols/base/span.h"

namespace atalaya::protocols {

// Reads the numbers of "Task Metrics"; each nested object becomes a group.
void read_metrics(std::string_view group, const io::JsonObject &metrics, Counters &out, size_t depth = 0);
// Reads the named accumulators; adds those with the same name. `key`: "Update" for a task, "Value" for a stage. Without
// `with_internal`, Spark's internal accumulators are left out, because a task's metrics contain them.
void read_accumulables(const io::JsonObject &info, std::string_view key, bool with_internal, Counters &out);
// Sets bytes, records and GC time of an ended task.
void measure_task(const io::JsonObject &metrics, Span &task);
// Appends the phases of a task. Spark logs their durations in milliseconds, not their starts, so that they follow one another
// without gaps. getting_result_ms: start of the driver's fetch of the result; 0: the result was sent with the task's end.
void add_task_phases(const io::JsonObject &metrics, const Span &task, int64_t getting_result_ms, Spans &out);

}  // namespace atalaya::protocols
