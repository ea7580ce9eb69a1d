// SPDX-License-Identifier: Apache-2.0
// The text form of Hadoop 0.18 to 1.x: records `Task TASKID="..." START_TIME="..." .`, whose values may hold line ends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plugins/sources/hadoop/event.h"

namespace atalaya::hadoop {

// The length of the record at the text's beginning, its line end included; 0: its end is not there yet.
size_t old_record_size(std::string_view text);
// Nothing in `why`: it was read. The record is without its line end.
Event read_old_record(std::string_view record, std::string &why);
// "{(group)(its words)[(name)(its words)(5)]...}..."; false where it is cut or of another form: what stands before is taken.
bool read_old_counters(std::string_view text, Counters &out);

}  // namespace atalaya::hadoop
