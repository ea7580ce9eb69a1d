// SPDX-License-Identifier: Apache-2.0
// Opens files in the root of a process (/proc/PID/root). Symbolic links are resolved inside that root and cannot leave it.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/files.h"

namespace atalaya::symbols {

class ProcessRoot {
 public:
  explicit ProcessRoot(int32_t pid);
  // False: the process has ended, or may not be examined.
  explicit operator bool() const { return static_cast<bool>(folder_); }

  // Opens a path with openat2(2). Returns an invalid descriptor and sets errno on an error.
  core::Descriptor open(const std::string &path, int flags, unsigned mode = 0) const;
  // Opens a path for reading. Returns an invalid descriptor if it is not a regular file.
  core::Descriptor open_regular(const std::string &path) const;

 private:
  core::Descriptor folder_;
};

// Reopens an O_PATH descriptor for reading. Returns an invalid descriptor if it is not a regular file; never opens devices and
// pipes.
core::Descriptor reopened_if_regular(const core::Descriptor &found);
// Opens a path of the host for reading if it is a regular file.
core::Descriptor open_regular(const std::string &path);

}  // namespace atalaya::symbols
