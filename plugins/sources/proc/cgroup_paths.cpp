// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/cgroup_paths.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <vector>

namespace atalaya::proc {
namespace {

constexpr size_t kMaxPaths = 20000;

}  // namespace

void CgroupPaths::open(const std::string &root) {
  v1_.reset();
  v2_.reset();
  paths_.clear();
  root_ = core::Descriptor(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  std::vector<char> buffer(1 << 20);
  std::vector<Mount> mounts;
  parse_mountinfo(read_path(root_.get(), "proc/self/mountinfo", buffer).text, mounts);
  for (const Hierarchy &tree : find_hierarchies(mounts)) {
    if (tree.v2) v2_ = tree;
    // The one that the kernel program numbers.
    if (!tree.v2 && tree.cpu) v1_ = tree;
  }
}

std::string_view CgroupPaths::path(uint64_t id) {
  if (id == 0) return {};
  auto found = paths_.find(id);
  if (found == paths_.end() && !looked_) {
    look();
    found = paths_.find(id);
  }
  return found == paths_.end() ? std::string_view() : found->second;
}

void CgroupPaths::look() {
  looked_ = true;
  if (paths_.size() > kMaxPaths) paths_.clear();
  if (v2_) look_in(*v2_, 0);
  if (v1_) look_in(*v1_, kCgroupV1);
}

void CgroupPaths::look_in(const Hierarchy &tree, uint64_t mark) {
  walk_.run(root_.get(), tree.path, [this, mark](std::string_view path, int folder) {
    struct stat info {};
    // The number is that of the folder's inode (kernfs).
    if (::fstat(folder, &info) == 0) paths_[info.st_ino | mark] = path;
    return paths_.size() <= 2 * kMaxPaths;
  });
}

}  // namespace atalaya::proc
