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
  uint64_t number = 0;  // increasing; a compacted part replaces all parts before it
  std::string path;
  uint64_t size = 0;
  bool open = false;  // its application may still write into it
};

struct Found {
  std::string path, name;  // name: the job's id if the history lacks one
  uint64_t size = 0;       // of all parts
  int64_t changed_ms = 0;
  bool configuration = false;  // a job's
  std::vector<Part> parts;
};

struct Finding {
  std::vector<Found> found;           // the oldest first
  std::vector<std::string> problems;  // folders that could not be read
};

inline constexpr size_t kMaxFiles = 1'000'000;  // examined below one path

// The path itself if it is a file. Throws Unreadable if the path does not exist.
Finding find_histories(Storage &storage, const std::string &path);

// The parts of a rolled log by file name, in reading order. The last part of a running application is
// open.
std::vector<Part> rolled_parts(const std::vector<Entry> &files);
// "application_1_2" of "application_1_2.zstd.inprogress" and of "eventlog_v2_application_1_2".
std::string job_name(std::string_view file);

}  // namespace atalaya::hadoop
