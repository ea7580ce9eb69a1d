// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace atalaya::self {

// Values from /proc/self; a value is absent if its file or field is missing.
struct Reading {
  std::optional<double> resident_mib;
  std::optional<int64_t> threads, open_files;
};

// Sets the members that a file /proc/PID/status has.
void parse_status(std::string_view text, Reading &reading);

Reading read_process(const std::string &folder);

// CPU time and context switches of this process, all threads together.
struct Usage {
  int64_t user_ns = 0, system_ns = 0;
  int64_t voluntary_switches = 0, involuntary_switches = 0;
};
Usage read_usage();

}  // namespace atalaya::self
