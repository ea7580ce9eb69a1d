// SPDX-License-Identifier: Apache-2.0
// The existing processes and cgroups that are selected.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/files.h"
#include "plugins/shared/host/cgroup/cgroup_walk.h"
#include "plugins/shared/io/match/matcher.h"

namespace atalaya::counters {

struct Process {
  int32_t pid = 0;
  uint64_t start_ns = 0;  // since boot; with the pid it is the identity
  std::string name;
  bool operator==(const Process &) const = default;
};

class ProcessList {
 public:
  ProcessList(const std::string &root, io::MatcherList names);
  // The selected processes, by pid.
  const std::vector<Process> &read();
  // The threads of a process; empty when it has ended.
  std::vector<int32_t> threads(int32_t pid) const;

 private:
  void take(int32_t pid, std::string_view stat);

  core::Descriptor folder_;
  io::MatcherList names_;
  uint64_t ticks_;
  std::vector<Process> found_;
};

class CgroupList {
 public:
  // A path and its folder: a cgroup created again has another inode.
  using Visit = std::function<void(std::string_view path, uint64_t inode, int folder)>;

  CgroupList(const std::string &root, io::MatcherList paths, int64_t depth);
  // Whether a hierarchy of cgroups supports perf events.
  bool any() const { return tree_.has_value(); }
  void read(const Visit &visit);

 private:
  core::Descriptor root_;
  io::MatcherList paths_;
  std::optional<std::string> tree_;  // from the root, without the leading '/'
  cgroup::CgroupWalk walk_;
};

// The hierarchy that perf events use: version 1 with the controller perf_event, else version 2.
std::optional<std::string> perf_tree(std::string_view mountinfo);

}  // namespace atalaya::counters
