// SPDX-License-Identifier: Apache-2.0
// Detects CPU throttling and OOM kills of cgroups, and finds the path of a cgroup by its id.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/files.h"
#include "plugins/shared/host/cgroup/cgroup_reader.h"
#include "plugins/shared/host/cgroup/cgroup_walk.h"

namespace atalaya::kernel {

struct Throttled {
  std::string_view cgroup;  // path; valid until the next call of update
  uint64_t time_ns = 0, periods = 0;
};
struct CgroupKills {
  std::string_view cgroup;
  uint64_t kills = 0;
};

class CgroupWatch {
 public:
  // Finds the cgroup hierarchies among the mounts below the root. Returns false if there is none.
  bool open(const std::string &root, const std::vector<procfs::Mount> &mounts);

  // Reads all cgroups and computes the differences to the last call. There are none for the first call, and for the first reading
  // of a cgroup that existed before the first call.
  void update(bool reads_kills);
  const std::vector<Throttled> &throttled() const { return throttled_; }
  const std::vector<CgroupKills> &kills() const { return kills_; }
  // Returns the path of the memory cgroup with this id; empty: unknown. A removed cgroup stays known until the second next call of
  // update.
  std::string path_of(uint64_t memory_cgroup) const;
  void clear();

 private:
  struct Known {
    uint64_t inode = 0;
    procfs::Count periods, time_ns, kills;
    uint64_t update = 0;  // number of the last update that listed the cgroup
  };
  using Cgroups = std::map<std::string, Known, std::less<>>;
  void visit(const cgroup::Hierarchy &tree, Cgroups &known, bool reads_kills, std::string_view path, int folder);
  void read_throttling(const cgroup::Hierarchy &tree, std::string_view path, int folder, Known &known);
  void read_kills(const cgroup::Hierarchy &tree, std::string_view path, int folder, Known &known);

  core::Descriptor root_;
  std::vector<cgroup::Hierarchy> trees_;
  std::vector<Cgroups> known_;  // one entry per hierarchy
  cgroup::CgroupWalk walk_{64};
  std::vector<char> buffer_;
  std::unordered_map<uint64_t, std::string> paths_, former_paths_;
  std::vector<Throttled> throttled_;
  std::vector<CgroupKills> kills_;
  uint64_t update_ = 0;
};

}  // namespace atalaya::kernel
