// SPDX-License-Identifier: Apache-2.0
// A line of a .jhist file, Avro's JSON, of all versions since 0.21.
#pragma once

#include <simdjson.h>

#include <string>
#include <string_view>

#include "plugins/sources/hadoop/event.h"

namespace atalaya::hadoop {

inline constexpr size_t kMaxCounters = 10'000;  // of one event: further ones are not taken

class JhistReader {
 public:
  // Nothing in `why`: it was read; events that are of no interest have the type `other`.
  Event read(std::string_view line, std::string &why);

 private:
  simdjson::dom::parser parser_;
};

}  // namespace atalaya::hadoop
