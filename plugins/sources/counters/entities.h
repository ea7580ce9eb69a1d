// SPDX-License-Identifier: Apache-2.0
// Finds the processes and cgroups that the operator selected.
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
  uint64_t start_ns = 0;  // start, since boot; pid and start_ns identify the process
  std::string name;
  bool operator==(const Process &) const = default;
};

class ProcessList {
 public:
  ProcessList(const std::string &root, io::MatcherList names);
  // Returns the selected processes in ascending order of pid.
  const std::vector<Process> &read();
  // Returns the threads of a process; empty if it has ended.
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
  // Called with each cgroup: its path, inode and folder descriptor. A cgroup that is created again has another inode.
  using Visit = std::function<void(std::string_view path, uint64_t inode, int folder)>;

  CgroupList(const std::string &root, io::MatcherList paths, int64_t depth);
  // Returns true if a cgroup hierarchy supports perf events.
  bool any() const { return tree_.has_value(); }
  void read(const Visit &visit);

 private:
  core::Descriptor root_;
  io::MatcherList paths_;
  std::optional<std::string> tree_;  // relative to the root, without the leading '/'
  cgroup::CgroupWalk walk_;
};

// Returns the mount point of the cgroup hierarchy that perf events use: version 1 with the controller perf_event, else version 2.
std::optional<std::string> perf_tree(std::string_view mountinfo);

}  // namespace atalaya::counters
