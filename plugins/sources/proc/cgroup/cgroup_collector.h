// SPDX-License-Identifier: Apache-2.0
// Emits one sample per cgroup path, with the values of all hierarchies (version 1, version 2 or both) that contain the path.
#pragma once

#include <atalaya/plugin.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/host/cgroup/cgroup_walk.h"
#include "plugins/sources/proc/cgroup/cgroup_model.h"
#include "plugins/sources/proc/host/host_options.h"
#include "plugins/sources/proc/host/host_text_reader.h"

namespace atalaya::proc {

class CgroupCollector {
 public:
  CgroupCollector(Host host, CgroupOptions options);
  void start();
  void collect(const Window &window, Batch &batch);

 private:
  struct Cgroup {
    cgroup::CgroupReading reading;
    uint64_t round = 0;
    uint64_t identity = 0,
             last_identity = 0;  // hash of the inodes of its folders: it differs for a cgroup created again at the same path
    CgroupHistory history;
  };

  bool visit(const cgroup::Hierarchy &hierarchy, std::string_view path, int folder);
  Cgroup *cgroup_of(std::string_view path);
  void read_v1(const cgroup::Hierarchy &hierarchy, int folder, cgroup::CgroupReading &out);
  void read_v2(const cgroup::Hierarchy &hierarchy, int folder, cgroup::CgroupReading &out);
  void read_io_v1(int folder, cgroup::CgroupCounters &out);

  Host host_;
  CgroupOptions options_;
  TextReader reader_;
  io::MetricEmitter<kCgroupMetrics> emitter_;
  uint32_t cgroup_tag_;
  uint64_t ns_per_tick_;

  std::vector<cgroup::Hierarchy> hierarchies_;
  std::vector<uint64_t> stacked_majors_;
  cgroup::CgroupWalk walk_;
  std::map<std::string, Cgroup, std::less<>> cgroups_;
  uint64_t round_ = 0;
  bool limit_logged_ = false;
  CgroupValues values_;
};

}  // namespace atalaya::proc
