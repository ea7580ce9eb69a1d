// SPDX-License-Identifier: Apache-2.0
// Paths of cgroups by the kernel's number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/files.h"
#include "plugins/shared/host/cgroup/cgroup_reader.h"
#include "plugins/shared/host/cgroup/cgroup_walk.h"

namespace atalaya::cgroup {

// Numbers are unique in one hierarchy: those of version 1 carry this bit.
inline constexpr uint64_t kCgroupV1 = uint64_t{1} << 63;

// The root of the hierarchy of version 2; closed: not mounted.
core::Descriptor open_cgroup_v2(const std::string &root);

class CgroupPaths {
 public:
  // Finds the hierarchies; without any, all paths are unknown.
  void open(const std::string &root);
  // Starts a pass: an unknown number causes at most one search per pass.
  void begin() { looked_ = false; }
  // Empty: unknown. A removed cgroup keeps its path while there is room. Valid until the next call.
  std::string_view path(uint64_t id);
  // One number for all cgroups that had the same path, one after the other; 0 where the path is unknown.
  uint64_t same(uint64_t id);

 private:
  struct Cgroup {
    std::string path;
    uint64_t same = 0;
  };
  const Cgroup *find(uint64_t id);
  void add(uint64_t id, std::string_view path);
  void look();
  void look_in(const Hierarchy &tree, uint64_t mark);

  core::Descriptor root_;
  std::optional<Hierarchy> v1_, v2_;
  CgroupWalk walk_{64};
  std::unordered_map<uint64_t, Cgroup> cgroups_;
  std::unordered_map<std::string_view, uint64_t> first_;  // with that path; the keys point into the cgroups
  bool looked_ = false;
};

}  // namespace atalaya::cgroup
