// SPDX-License-Identifier: Apache-2.0
// The text form of Hadoop 0.18 to 1.x: records `Task TASKID="..." START_TIME="..." .`, whose values may hold line ends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "plugins/shared/protocols/jhist/event.h"

namespace atalaya::protocols {

// The length of the first record, including its line end; 0: incomplete.
size_t old_record_size(std::string_view text);
// The record has no line end. Irrelevant events have the type `other`.
core::Result<Event> read_old_record(std::string_view record);
// "{(group)(its words)[(name)(its words)(5)]...}..."; false if cut off or malformed: counters before that are kept.
bool read_old_counters(std::string_view text, Counters &out);

}  // namespace atalaya::protocols
