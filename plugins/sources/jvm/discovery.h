// SPDX-License-Identifier: Apache-2.0
// Finds the JVMs of this host, those in containers too: processes that have HotSpot's library mapped. None is started, asked or
// changed for it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/jvm/attach.h"

namespace atalaya::jvm {

struct FoundJvm {
  Target target;
  std::string comm;         // the kernel's name of it, "java"
  std::string shared_path;  // of its file hsperfdata_USER/PID, as it sees it; empty: it has none, or not yet
};

// What /proc/PID/maps says of a process: whether it is a JVM, and its file's path. Pure.
struct MapsSay {
  bool is_jvm = false;
  std::string_view shared_path;
};
MapsSay look_at_maps(std::string_view maps, int32_t inner_pid);
// The name of a process in /proc/PID/stat. Pure.
std::string_view comm_in(std::string_view stat);

class Discovery {
 public:
  // Those that run now, by number. One that has just begun is found when it has made its file, or has had time to.
  const std::vector<FoundJvm> &look();
  // A process that this one may not look at, a JVM perhaps; 0: there was none.
  int32_t closed_pid() const { return closed_pid_; }

 private:
  struct Known {
    symbols::ProcessMark mark;
    int64_t since_ns = 0;  // of this program, since boot
    bool is_jvm = false, is_settled = false;
    int64_t looked_ns = 0;
    uint64_t looks = 0, seen = 0;
    FoundJvm jvm;
  };
  void look_at(int32_t pid, int64_t now_ns);
  void keep(int32_t pid);
  bool may_wait(int32_t pid, int64_t now_ns);
  void read(int32_t pid, std::string_view stat, Known &known);
  static bool is_settled(const Known &known, int64_t now_ns);

  uint64_t round_ = 0;
  int32_t closed_pid_ = 0;
  std::map<int32_t, Known> known_;
  std::vector<FoundJvm> found_;
};

}  // namespace atalaya::jvm
