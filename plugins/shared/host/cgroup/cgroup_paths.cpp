// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/cgroup/cgroup_paths.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <vector>

namespace atalaya::cgroup {
namespace {

constexpr size_t kMaxPaths = 20000;

std::vector<Hierarchy> hierarchies_below(int root) {
  std::vector<char> buffer(1 << 20);
  std::vector<procfs::Mount> mounts;
  parse_mountinfo(procfs::read_path(root, "proc/self/mountinfo", buffer).text, mounts);
  return find_hierarchies(mounts);
}

}  // namespace

core::Descriptor open_cgroup_v2(const std::string &root) {
  const core::Descriptor top(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (const Hierarchy &tree : hierarchies_below(top.get()))
    if (tree.v2) return core::Descriptor(::openat(top.get(), tree.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return {};
}

void CgroupPaths::open(const std::string &root) {
  v1_.reset();
  v2_.reset();
  first_.clear();
  cgroups_.clear();
  root_ = core::Descriptor(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (const Hierarchy &tree : hierarchies_below(root_.get())) {
    if (tree.v2) v2_ = tree;
    // The root of the hierarchy whose cgroup numbers the BPF program reports.
    if (!tree.v2 && tree.cpu) v1_ = tree;
  }
}

std::string_view CgroupPaths::path(uint64_t id) {
  const Cgroup *cgroup = find(id);
  return cgroup == nullptr ? std::string_view() : cgroup->path;
}

uint64_t CgroupPaths::same(uint64_t id) {
  const Cgroup *cgroup = find(id);
  return cgroup == nullptr ? 0 : cgroup->same;
}

const CgroupPaths::Cgroup *CgroupPaths::find(uint64_t id) {
  if (id == 0) return nullptr;
  auto found = cgroups_.find(id);
  if (found == cgroups_.end() && !searched_) {
    search();
    found = cgroups_.find(id);
  }
  return found == cgroups_.end() ? nullptr : &found->second;
}

void CgroupPaths::search() {
  searched_ = true;
  if (cgroups_.size() > kMaxPaths) {
    first_.clear();
    cgroups_.clear();
  }
  if (v2_) search_in(*v2_, 0);
  if (v1_) search_in(*v1_, kCgroupV1);
}

// Numbers of cgroups are never reused, so a known path stays valid.
void CgroupPaths::add(uint64_t id, std::string_view path) {
  const auto [at, added] = cgroups_.try_emplace(id);
  if (!added) return;
  Cgroup &cgroup = at->second;
  cgroup.path = path;
  cgroup.same = first_.try_emplace(cgroup.path, id).first->second;
}

void CgroupPaths::search_in(const Hierarchy &tree, uint64_t mark) {
  walk_.run(root_.get(), tree.path, [this, mark](std::string_view path, int folder) {
    struct stat info {};
    // The number is the inode of the folder (kernfs).
    if (::fstat(folder, &info) == 0) add(info.st_ino | mark, path);
    return cgroups_.size() <= 2 * kMaxPaths;
  });
}

}  // namespace atalaya::cgroup
