// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace atalaya::self {

// Values from /proc/self; missing ones are absent.
struct Reading {
  std::optional<double> resident_mib;
  std::optional<int64_t> threads, open_files;
};

// The numbers of a `status` file.
void parse_status(std::string_view text, Reading &reading);

Reading read_process(const std::string &folder);

// CPU time of all threads and their context switches.
struct Usage {
  int64_t user_ns = 0, system_ns = 0;
  int64_t voluntary_switches = 0, involuntary_switches = 0;
};
Usage read_usage();

}  // namespace atalaya::self
