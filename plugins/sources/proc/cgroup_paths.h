// SPDX-License-Identifier: Apache-2.0
// From the kernel's number of a cgroup to its path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/util/files.h"
#include "plugins/sources/proc/cgroup_reader.h"
#include "plugins/sources/proc/cgroup_walk.h"

namespace atalaya::proc {

// Numbers are unique in one tree: those of version 1 carry this bit.
inline constexpr uint64_t kCgroupV1 = uint64_t{1} << 63;

class CgroupPaths {
 public:
  // Finds the trees; without any all paths are unknown.
  void open(const std::string &root);
  // From here on a number that is not known makes us look once.
  void begin() { looked_ = false; }
  // Empty: unknown. A cgroup that has been removed keeps its path while there is room. Valid until the next call.
  std::string_view path(uint64_t id);

 private:
  void look();
  void look_in(const Hierarchy &tree, uint64_t mark);

  core::Descriptor root_;
  std::optional<Hierarchy> v1_, v2_;
  CgroupWalk walk_{64};
  std::unordered_map<uint64_t, std::string> paths_;
  bool looked_ = false;
};

}  // namespace atalaya::proc
