// SPDX-License-Identifier: Apache-2.0
// The files of a process as it sees them. Its owner lays links there: they lead where they lead for the process, and never out of
// its root.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/files.h"

namespace atalaya::symbols {

class ProcessRoot {
 public:
  explicit ProcessRoot(int32_t pid);

  // As openat2 does; closed: errno says why.
  core::Descriptor open(const std::string &path, int flags, unsigned mode = 0) const;
  // For reading; closed: there is no regular file.
  core::Descriptor open_regular(const std::string &path) const;

 private:
  core::Descriptor folder_;
};

// What was found with O_PATH, for reading: nothing happens to a device or a pipe that lies there.
core::Descriptor reopened_if_regular(const core::Descriptor &found);
// The same of a path of the host.
core::Descriptor open_regular(const std::string &path);

}  // namespace atalaya::symbols
