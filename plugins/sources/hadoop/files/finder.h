// SPDX-License-Identifier: Apache-2.0
// Finds files below a path that may be histories.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/sources/hadoop/files/storage.h"

namespace atalaya::hadoop {

struct Part {
  uint64_t number = 0;  // ascending; a compacted part replaces all parts with smaller numbers
  std::string path;
  uint64_t size = 0;
  bool open = false;  // its application may still write into it
};

struct Found {
  std::string path, name;  // name: used as job id if the history has none
  uint64_t size = 0;       // sum over all parts
  int64_t changed_ms = 0;
  bool configuration = false;  // job configuration file, not a history
  std::vector<Part> parts;
};

struct Finding {
  std::vector<Found> found;           // oldest first
  std::vector<std::string> problems;  // folders that could not be read
};

inline constexpr size_t kMaxFiles = 1'000'000;  // maximum files examined below one path

// Finds the history files below `path`; the result is `path` itself if it is a file. Throws Unreadable if the path does not exist.
Finding find_histories(Storage &storage, const std::string &path);

// Returns the parts of a rolled event log in reading order, which the file names define. The last part of a running application is
// marked as open.
std::vector<Part> rolled_parts(const std::vector<Entry> &files);
// Returns "application_1_2" for "application_1_2.zstd.inprogress" and for "eventlog_v2_application_1_2".
std::string job_name(std::string_view file);

}  // namespace atalaya::hadoop
