// SPDX-License-Identifier: Apache-2.0
// Reads the histories of Hadoop 0.18 to 1.x: records `Task TASKID="..." START_TIME="..." .`, whose values may contain line ends.
// Source: JobHistory.log and Counters.makeEscapedCompactString of hadoop-core 1.2.
//   Meta VERSION="1" .
//   MapAttempt TASK_TYPE="MAP" TASKID=".." TASK_ATTEMPT_ID=".." FINISH_TIME="150" COUNTERS="{(group)(words)[(name)(words)(5)]}" .
// A backslash escapes the next character of a value. Counters are escaped first as such, then as a value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "plugins/shared/protocols/jhist/event.h"

namespace atalaya::protocols {

// The length of the first record, including its line end; 0: incomplete.
size_t old_record_size(std::string_view text);
// Parses a record, given without its line end. Irrelevant events have the type `other`.
core::Result<Event> read_old_record(std::string_view record);
// Parses "{(group)(display name)[(name)(display name)(5)]...}...". False if the text is truncated or malformed; `out` then has the
// counters before.
bool read_old_counters(std::string_view text, Counters &out);

}  // namespace atalaya::protocols
