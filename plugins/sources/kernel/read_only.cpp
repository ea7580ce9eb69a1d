// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/kernel/read_only.h"

#include <set>
#include <utility>

#include "core/base/files.h"
#include "plugins/shared/host/cgroup/cgroup_reader.h"

namespace atalaya::kernel {

std::optional<std::string> read_mountinfo(const std::string &root) {
  constexpr size_t kMaxBytes = size_t{16} << 20;  // a host with many thousands of containers has a few MiB
  auto text = core::read_file(root == "/" ? "/proc/self/mountinfo" : root + "/proc/1/mountinfo", kMaxBytes);
  return text ? std::optional(std::move(*text)) : std::nullopt;
}

bool ReadOnlyWatch::update_state(const std::string &key, bool is_read_only, bool &is_new) {
  State &state = states_[key];
  state.is_seen = true;
  is_new = is_read_only && !state.is_read_only;
  state.is_read_only = is_read_only;
  state.was_writable = state.was_writable || !is_read_only;
  return is_read_only && state.was_writable;
}

std::vector<ReadOnly> ReadOnlyWatch::update(const std::vector<procfs::Mount> &mounts) {
  for (auto &[key, state] : states_) state.is_seen = false;
  std::vector<ReadOnly> result;
  std::set<std::string_view> devices;
  const auto add = [&](const procfs::Mount &mount, bool is_new) {
    result.push_back({procfs::unescape_mount(mount.mount_point), procfs::unescape_mount(mount.source), is_new});
  };
  for (const procfs::Mount &mount : mounts) {
    bool is_new = false;
    const bool is_first = devices.insert(mount.device).second;
    const bool is_file_system = cgroup::has_option(mount.super_options, "ro");
    const bool reports = is_first && update_state("device " + std::string(mount.device), is_file_system, is_new);
    if (reports) add(mount, is_new);
    // A mount may be read-only although its file system is writable.
    const bool is_mount = cgroup::has_option(mount.options, "ro") && !is_file_system;
    std::string key = "mount " + std::string(mount.device);
    key.append(" ").append(mount.root).append(" ").append(mount.mount_point);
    if (update_state(key, is_mount, is_new)) add(mount, is_new);
  }
  std::erase_if(states_, [](const auto &entry) { return !entry.second.is_seen; });
  return result;
}

}  // namespace atalaya::kernel
