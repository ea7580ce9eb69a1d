// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/kernel/cgroup_watch.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "plugins/shared/host/procfs/files.h"

namespace atalaya::kernel {
namespace {

constexpr size_t kStatBytes = 8192;
constexpr size_t kMaxCgroups = 100'000;  // of one hierarchy

// The increase since the last reading; none after a reset.
uint64_t increase(const procfs::Count &before, const procfs::Count &now) {
  return before && now && *now > *before ? *now - *before : 0;
}

}  // namespace

bool CgroupWatch::open(const std::string &root, const std::vector<procfs::Mount> &mounts) {
  root_ = procfs::open_root(root, "");
  if (!root_) return false;
  trees_ = cgroup::find_hierarchies(mounts);
  std::erase_if(trees_, [](const cgroup::Hierarchy &tree) { return !tree.cpu && !tree.memory; });
  clear();
  buffer_.resize(kStatBytes);
  return !trees_.empty();
}

void CgroupWatch::clear() {
  known_.assign(trees_.size(), {});
  update_ = 0;
}

void CgroupWatch::update(bool reads_kills) {
  ++update_;
  throttled_.clear();
  kills_.clear();
  former_paths_ = std::exchange(paths_, {});
  for (size_t i = 0; i < trees_.size(); ++i) {
    const cgroup::Hierarchy &tree = trees_[i];
    Cgroups &known = known_[i];
    walk_.run(root_.get(), tree.path, [&](std::string_view path, int folder) {
      visit(tree, known, reads_kills, path, folder);
      return true;
    });
    std::erase_if(known, [this](const auto &entry) { return entry.second.update != update_; });
  }
}

void CgroupWatch::visit(const cgroup::Hierarchy &tree, Cgroups &known, bool reads_kills, std::string_view path, int folder) {
  struct stat found {};
  if (::fstat(folder, &found) != 0) return;
  auto at = known.find(path);
  if (at == known.end()) {
    if (known.size() >= kMaxCgroups) return;
    at = known.emplace(path, Known{}).first;
  }
  Known &cgroup = at->second;
  if (cgroup.inode != found.st_ino) cgroup = {};  // another cgroup with the same path
  const bool is_born = cgroup.inode == 0 && update_ > 1;
  cgroup.inode = found.st_ino;
  cgroup.update = update_;
  if (is_born) cgroup.periods = cgroup.time_ns = cgroup.kills = 0;
  if (tree.memory) paths_.emplace(found.st_ino, at->first);
  if (tree.cpu) read_throttling(tree, at->first, folder, cgroup);
  if (tree.memory && reads_kills) read_kills(tree, at->first, folder, cgroup);
}

void CgroupWatch::read_throttling(const cgroup::Hierarchy &tree, std::string_view path, int folder, Known &known) {
  const procfs::FileText text = procfs::read_path(folder, "cpu.stat", buffer_);
  if (!text.ok()) return;
  cgroup::CgroupCounters counters;
  tree.v2 ? cgroup::parse_cpu_stat_v2(text.text, counters) : cgroup::parse_cpu_stat_v1(text.text, counters);
  const Throttled change{path, increase(known.time_ns, counters.throttled_ns), increase(known.periods, counters.throttled_periods)};
  if (change.time_ns > 0 || change.periods > 0) throttled_.push_back(change);
  known.time_ns = counters.throttled_ns;
  known.periods = counters.throttled_periods;
}

// In version 2, memory.events includes nested cgroups; memory.events.local (Linux 5.2) does not.
void CgroupWatch::read_kills(const cgroup::Hierarchy &tree, std::string_view path, int folder, Known &known) {
  const procfs::FileText text = procfs::read_path(folder, tree.v2 ? "memory.events.local" : "memory.oom_control", buffer_);
  if (!text.ok()) return;
  cgroup::CgroupCounters counters;
  cgroup::parse_oom_kills(text.text, counters);
  if (const uint64_t kills = increase(known.kills, counters.oom_kills); kills > 0) kills_.push_back({path, kills});
  known.kills = counters.oom_kills;
}

std::string CgroupWatch::path_of(uint64_t memory_cgroup) const {
  for (const auto *paths : {&paths_, &former_paths_})
    if (const auto found = paths->find(memory_cgroup); found != paths->end()) return found->second;
  return {};
}

}  // namespace atalaya::kernel
