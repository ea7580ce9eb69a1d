// SPDX-License-Identifier: Apache-2.0
// Reads files in folders that other users can write to.
#pragma once

#include <sys/types.h>

#include <ctime>
#include <optional>
#include <string>
#include <string_view>

namespace atalaya::containers {

// Identifies the version of a file that was read.
struct FileMark {
  dev_t device = 0;
  ino_t node = 0;
  off_t size = 0;
  timespec changed{};
  bool operator==(const FileMark &other) const {
    return device == other.device && node == other.node && size == other.size && changed.tv_sec == other.changed.tv_sec &&
           changed.tv_nsec == other.changed.tv_nsec;
  }
};

// A path in two parts. `base` is a folder of the administrator, which may contain links. Links below it are not followed, because
// a user could have created them. In a user's folder only regular files of that user or of root are read.
struct StatePath {
  std::string base;
  std::string below;            // "ID/config.v2.json"
  std::optional<uid_t> user{};  // owner of the folder; nothing: the system
  size_t max_bytes = size_t{1} << 20;
};

enum class Access { read, same, absent, denied, too_large, not_trusted };  // same: unchanged since the last reading

// Reads a file. `seen` is the mark of the last reading: a file with the same mark is not read again. Sets `seen` after a reading.
Access read_state(const StatePath &path, std::string &text, FileMark *seen = nullptr);

}  // namespace atalaya::containers
