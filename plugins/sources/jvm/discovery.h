// SPDX-License-Identifier: Apache-2.0
// Finds the JVMs of this host and its containers: processes that have mapped libjvm.so.
// Discovery neither contacts nor changes a JVM.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/code/jvm/attach.h"

namespace atalaya::jvm {

struct FoundJvm {
  Target target;
  std::string comm;         // the kernel's process name, "java"
  std::string shared_path;  // path of hsperfdata_USER/PID in the JVM's root folder; empty: it does not exist (yet)
};

// Parses /proc/PID/maps: whether the process is a JVM, and the path of its hsperfdata file. Pure.
struct JvmMaps {
  bool is_jvm = false;
  std::string_view shared_path;
};
JvmMaps parse_jvm_maps(std::string_view maps, int32_t inner_pid);
// Returns the process name in the text of /proc/PID/stat. Pure.
std::string_view comm_in(std::string_view stat);

class Discovery {
 public:
  // Returns the running JVMs in ascending order of pid, a new JVM as soon as its hsperfdata file exists, or after a delay.
  const std::vector<FoundJvm> &find();
  // Returns the pid of a process that the agent may not read and that may be a JVM; 0: none.
  int32_t unreadable_pid() const { return unreadable_pid_; }

 private:
  struct Known {
    symbols::ProcessMark mark;
    int64_t since_ns = 0;  // start of the agent, since boot
    bool is_jvm = false, is_settled = false;
    int64_t checked_ns = 0;
    uint64_t checks = 0, round = 0;  // number of checks; last round that listed the process
    FoundJvm jvm;
  };
  void check(int32_t pid, int64_t now_ns);
  void keep_state_of(int32_t pid);
  bool can_skip(int32_t pid, int64_t now_ns);
  void read(int32_t pid, std::string_view stat, Known &known);
  static bool is_settled(const Known &known, int64_t now_ns);

  uint64_t round_ = 0;
  int32_t unreadable_pid_ = 0;
  std::map<int32_t, Known> known_;
  std::vector<FoundJvm> found_;
};

}  // namespace atalaya::jvm
