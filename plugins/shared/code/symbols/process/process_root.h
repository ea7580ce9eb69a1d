// SPDX-License-Identifier: Apache-2.0
// The files of a process as it sees them. Symbolic links are resolved inside the process's root and never lead out of it.
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

  // Like openat2; closed on error, with errno set.
  core::Descriptor open(const std::string &path, int flags, unsigned mode = 0) const;
  // Opens for reading; closed: not a regular file.
  core::Descriptor open_regular(const std::string &path) const;

 private:
  core::Descriptor folder_;
};

// Reopens an O_PATH descriptor for reading if it is a regular file; devices and pipes are never opened.
core::Descriptor reopened_if_regular(const core::Descriptor &found);
// The same for a path of the host.
core::Descriptor open_regular(const std::string &path);

}  // namespace atalaya::symbols
