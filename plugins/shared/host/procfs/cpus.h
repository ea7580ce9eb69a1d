// SPDX-License-Identifier: Apache-2.0
// Online CPUs, their changes, and their cores, dies and packages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/host/procfs/tree.h"

namespace atalaya::procfs {

// From /sys below the root.
std::vector<int> online_cpus(const std::string &root = "/");

struct CpuChange {
  std::vector<int> gone, come;
  bool any() const { return !gone.empty() || !come.empty(); }
};
CpuChange change_of(const std::vector<int> &before, const std::vector<int> &online);

// "0-2,5" -> 0 1 2 5, the format of /sys/devices/system/cpu/online.
std::vector<int> parse_cpus(std::string_view text);

struct Cpu {
  int32_t number = 0, package = 0, die = 0, core_id = 0;
  bool first_of_core = false, first_of_die = false, first_of_package = false;  // has the lowest number of it
};
// The online CPUs, by number.
std::vector<Cpu> read_cpus(const Tree &tree);

// Detects CPUs that went online or offline.
class CpuWatch {
 public:
  explicit CpuWatch(std::string root) : root_(std::move(root)) {}
  void start();
  // Whether they changed since the last call or the one before: the kernel creates the files of a CPU shortly after it is online.
  bool changed();

 private:
  std::string root_;
  std::vector<int> online_;
  bool again_ = false;
};

}  // namespace atalaya::procfs
