// SPDX-License-Identifier: Apache-2.0
// Finds the JVMs of this host, including those in containers: processes that have HotSpot's library mapped. It neither contacts nor
// changes them.
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
  std::string comm;         // the kernel's name of it, "java"
  std::string shared_path;  // of its file hsperfdata_USER/PID in its root; empty: none, or not yet
};

// Whether a process is a JVM, and the path of its hsperfdata file, from /proc/PID/maps. Pure.
struct JvmMaps {
  bool is_jvm = false;
  std::string_view shared_path;
};
JvmMaps parse_jvm_maps(std::string_view maps, int32_t inner_pid);
// The name of a process in /proc/PID/stat. Pure.
std::string_view comm_in(std::string_view stat);

class Discovery {
 public:
  // The running JVMs, by pid. A new JVM is found once its file exists, or after a delay.
  const std::vector<FoundJvm> &find();
  // A process that this one must not read, possibly a JVM; 0: none.
  int32_t closed_pid() const { return closed_pid_; }

 private:
  struct Known {
    symbols::ProcessMark mark;
    int64_t since_ns = 0;  // start of this program, since boot
    bool is_jvm = false, is_settled = false;
    int64_t looked_ns = 0;
    uint64_t looks = 0, seen = 0;
    FoundJvm jvm;
  };
  void check(int32_t pid, int64_t now_ns);
  void keep(int32_t pid);
  bool can_skip(int32_t pid, int64_t now_ns);
  void read(int32_t pid, std::string_view stat, Known &known);
  static bool is_settled(const Known &known, int64_t now_ns);

  uint64_t round_ = 0;
  int32_t closed_pid_ = 0;
  std::map<int32_t, Known> known_;
  std::vector<FoundJvm> found_;
};

}  // namespace atalaya::jvm
