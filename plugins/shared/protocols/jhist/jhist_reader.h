// SPDX-License-Identifier: Apache-2.0
// Reads the lines of a .jhist file (Avro JSON) of Hadoop 0.21 and later; histories in Avro's binary form become such lines first.
// Source: Events.avpr of hadoop-mapreduce-client-core 3.5, and EventReader and EventWriter of its package jobhistory.
//   Avro-Json                                                                                        the form
//   {"type":"record","name":"Event",..}                                                              the schema
//   {"type":"MAP_ATTEMPT_STARTED","event":{"org...TaskAttemptStarted":{"taskid":"..","startTime":1,..}}}   an event a line
// A value of a union may be {"TYPE": value}. Counters are {"groups":[{"name":"..","counts":[{"name":"..","value":1}]}]}.
// Names that differ between versions are read in each form: trackerName or hostname, jobStatus, taskStatus or status. Times below
// 0 and beyond the range of nanoseconds are absent. Refused: lines that are no event, and events that name no job.
#pragma once

#include <simdjson.h>

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "plugins/shared/protocols/jhist/event.h"

namespace atalaya::protocols {

inline constexpr size_t kMaxCounters = 10'000;  // counters per event; further ones are skipped

class JhistReader {
 public:
  // Irrelevant events have the type `other`.
  core::Result<Event> read(std::string_view line);

 private:
  simdjson::dom::parser parser_;
};

}  // namespace atalaya::protocols
