// SPDX-License-Identifier: Apache-2.0
// Online CPUs, their changes, and their cores, dies and packages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/host/procfs/tree.h"

namespace atalaya::procfs {

// The numbers of the online CPUs, from /sys below `root`.
std::vector<int> online_cpus(const std::string &root = "/");

struct CpuChange {
  std::vector<int> removed, added;
  bool any() const { return !removed.empty() || !added.empty(); }
};
CpuChange change_of(const std::vector<int> &before, const std::vector<int> &online);

// Parses "0-2,5" to 0 1 2 5: the format of /sys/devices/system/cpu/online.
std::vector<int> parse_cpus(std::string_view text);

struct Cpu {
  int32_t number = 0, package = 0, die = 0, core_id = 0;
  bool first_of_core = false, first_of_die = false, first_of_package = false;  // it has the lowest number of its core, die, package
};
// The online CPUs, by number.
std::vector<Cpu> read_cpus(const Tree &tree);

// Detects CPUs that went online or offline.
class CpuWatch {
 public:
  explicit CpuWatch(std::string root) : root_(std::move(root)) {}
  void start();
  // Whether the online CPUs changed since the call before the last one. Reports each change twice, because the kernel creates the
  // files of a CPU shortly after it is online.
  bool changed();

 private:
  std::string root_;
  std::vector<int> online_;
  bool report_again_ = false;
};

}  // namespace atalaya::procfs
