// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/containers/state_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/files.h"

namespace atalaya::containers {
namespace {

Access access_of(int error) {
  if (error == EACCES || error == EPERM) return Access::denied;
  return error == ELOOP ? Access::not_trusted : Access::absent;
}

// For a symbolic link instead of a folder the error is ENOTDIR, not ELOOP: O_DIRECTORY is checked first (open(2)).
core::Descriptor open_below(core::Descriptor folder, std::string_view path) {
  while (folder) {
    const size_t end = path.find('/');
    const std::string part(path.substr(0, end));
    if (end == std::string_view::npos)
      return core::Descriptor(::openat(folder.get(), part.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    folder = core::Descriptor(::openat(folder.get(), part.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    path.remove_prefix(end + 1);
  }
  return folder;
}

}  // namespace

Access read_state(const StatePath &path, std::string &text, FileMark *seen) {
  core::Descriptor base(::open(path.base.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!base) return access_of(errno);
  const core::Descriptor file = open_below(std::move(base), path.below);
  if (!file) return access_of(errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return Access::absent;
  if (!S_ISREG(info.st_mode) || (path.user && info.st_uid != *path.user && info.st_uid != 0)) return Access::not_trusted;
  const FileMark mark{info.st_dev, info.st_ino, info.st_size, info.st_mtim};
  if (seen != nullptr && *seen == mark) return Access::same;
  if (static_cast<size_t>(info.st_size) > path.max_bytes) return Access::too_large;
  if (core::read_all(file.get(), path.max_bytes, text) != 0) return Access::absent;
  if (seen != nullptr) *seen = mark;
  return Access::read;
}

}  // namespace atalaya::containers
