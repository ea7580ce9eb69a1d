// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/cgroup/cgroup_walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstring>

namespace atalaya::cgroup {
namespace {

constexpr size_t kEntriesSize = size_t{32} << 10;

core::Descriptor open_folder(int parent, const char *name) {
  return core::Descriptor(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// The kernel counts the folders in a cgroup as links; some file systems of recorded trees do not count and report 1.
bool has_no_folders(int folder) {
  struct stat found {};
  return ::fstat(folder, &found) == 0 && found.st_nlink == 2;
}

}  // namespace

void CgroupWalk::run(int root, const std::string &top, const Visit &visit) {
  entries_.resize(kEntriesSize);
  path_.clear();
  names_.clear();
  if (const core::Descriptor folder = open_folder(root, top.c_str())) enter(folder, 0, visit);
}

void CgroupWalk::enter(const core::Descriptor &folder, int64_t level, const Visit &visit) {
  if (!visit(path_.empty() ? std::string_view("/") : std::string_view(path_), folder.get())) return;
  if (level >= depth_ || has_no_folders(folder.get())) return;
  const size_t first = names_.size();
  const size_t path_size = path_.size();
  list_folders(folder.get());
  for (size_t at = first; at < names_.size();) {
    const size_t size = std::strlen(names_.c_str() + at);
    const core::Descriptor child = open_folder(folder.get(), names_.c_str() + at);
    path_.append(1, '/').append(names_, at, size);
    at += size + 1;
    if (child) enter(child, level + 1, visit);
    path_.resize(path_size);
  }
  names_.resize(first);
}

void CgroupWalk::list_folders(int folder) {
  for (;;) {
    const ssize_t size = ::getdents64(folder, entries_.data(), entries_.size());
    if (size <= 0) return;
    for (ssize_t at = 0; at < size;) {
      const char *const entry = entries_.data() + at;
      unsigned short length = 0;
      std::memcpy(&length, entry + offsetof(dirent64, d_reclen), sizeof(length));
      const auto type = static_cast<unsigned char>(entry[offsetof(dirent64, d_type)]);
      const char *const name = entry + offsetof(dirent64, d_name);
      const bool dots = std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0;
      if ((type == DT_DIR || type == DT_UNKNOWN) && !dots) names_.append(name).push_back('\0');
      at += length;
    }
  }
}

}  // namespace atalaya::cgroup
