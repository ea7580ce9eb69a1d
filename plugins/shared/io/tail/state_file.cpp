// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/tail/state_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "core/base/files.h"

namespace atalaya::tail {

static core::Error system_error(const std::string &what, const std::string &path) {
  return core::Error{what + " " + path + ": " + core::error_text(errno)};
}

core::Status replace_state(const std::string &path, const std::string &text) {
  if (text.size() > kMaxStateBytes)
    return core::Error{path + " not written: its size of " + std::to_string(text.size()) + " bytes exceeds the maximum"};
  const std::string fresh = path + ".new";
  {
    const core::Descriptor fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640));
    if (!fd) return system_error("cannot write", fresh);
    if (core::write_all(fd.get(), text) != 0) return system_error("cannot write", fresh);
    if (::fdatasync(fd.get()) != 0) return system_error("cannot sync", fresh);
  }
  if (std::rename(fresh.c_str(), path.c_str()) != 0) return system_error("cannot rename to", path);
  const core::Descriptor names(::open(core::folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!names || ::fsync(names.get()) != 0) return system_error("cannot sync the folder of", path);
  return core::Done{};
}

}  // namespace atalaya::tail
