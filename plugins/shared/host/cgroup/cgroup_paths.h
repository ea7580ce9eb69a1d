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

// Numbers are unique within one hierarchy. Numbers of version 1 have this bit set.
inline constexpr uint64_t kCgroupV1 = uint64_t{1} << 63;

// Opens the root of the hierarchy of version 2; the descriptor is closed if it is not mounted.
core::Descriptor open_cgroup_v2(const std::string &root);

// Finds the path of a cgroup by its number, which BPF programs report.
class CgroupPaths {
 public:
  // Finds the hierarchies; without any, all paths are unknown.
  void open(const std::string &root);
  // Starts a pass: unknown numbers cause at most one search per pass.
  void begin() { searched_ = false; }
  // The path of a cgroup; "" if it is unknown. The path of a removed cgroup remains known until the table is full. Valid until the
  // next call.
  std::string_view path(uint64_t id);
  // An equal number for all cgroups that have or had the same path; 0 if the path is unknown.
  uint64_t same(uint64_t id);

 private:
  struct Cgroup {
    std::string path;
    uint64_t same = 0;
  };
  const Cgroup *find(uint64_t id);
  void add(uint64_t id, std::string_view path);
  void search();
  void search_in(const Hierarchy &tree, uint64_t mark);

  core::Descriptor root_;
  std::optional<Hierarchy> v1_, v2_;
  CgroupWalk walk_{64};
  std::unordered_map<uint64_t, Cgroup> cgroups_;
  std::unordered_map<std::string_view, uint64_t> first_;  // the first number with a path; keys are views of cgroups_
  bool searched_ = false;                                 // a search was made in this pass
};

}  // namespace atalaya::cgroup
