// SPDX-License-Identifier: Apache-2.0
// Reads the lines of a .jhist file (Avro JSON) of Hadoop 0.21 and later.
#pragma once

#include <simdjson.h>

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "plugins/shared/protocols/jhist/event.h"

namespace atalaya::protocols {

inline constexpr size_t kMaxCounters = 10'000;  // per event; further ones are skipped

class JhistReader {
 public:
  // Irrelevant events have the type `other`.
  core::Result<Event> read(std::string_view line);

 private:
  simdjson::dom::parser parser_;
};

}  // namespace atalaya::protocols
