// SPDX-License-Identifier: Apache-2.0
// Joins the two reports of an OOM kill: the kernel's log has one message for each kill; the hook on the choice of a victim has its
// cgroup, also if kills are frequent, but it also reports victims that were about to end anyway, which the kernel does not count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bpf/oom.h"
#include "plugins/sources/kernel/log_message.h"

namespace atalaya::kernel {

struct Victim {
  int64_t time_ns = 0;  // monotonic
  int64_t pid = 0;      // 0: unknown
  std::string process;  // empty: unknown
  std::string cgroup;   // empty: unknown
  std::optional<double> resident_mib;
};

inline constexpr size_t kMaxVictims = 4096;  // that wait, and that are known; the oldest is forgotten

class Victims {
 public:
  explicit Victims(uint64_t page_size) : page_size_(page_size) {}

  // The log is read first: then the mark of each logged kill is already there.
  void add(const Kill &kill, int64_t time_ns);
  void add(const KillPlace &place);
  void add(const oom_mark &mark, std::string cgroup);

  // The kills since the last call. `is_logged`: the log is readable, and lost no message.
  std::vector<Victim> take(bool is_logged);

 private:
  struct Mark {
    Victim victim;
    uint64_t start_ns = 0;
    int waited = 0;
  };
  struct Known {
    uint64_t start_ns = 0;
    int age = 0;  // in calls of take
  };
  bool is_new(const Mark &mark);

  const uint64_t page_size_;
  std::vector<Victim> logged_;
  std::map<int64_t, std::string> places_;  // by pid
  std::map<int64_t, Mark> marks_;          // by pid
  std::map<int64_t, Known> known_;         // by pid: reported by their mark, or with it
};

}  // namespace atalaya::kernel
