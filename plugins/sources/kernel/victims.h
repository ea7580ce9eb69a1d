// SPDX-License-Identifier: Apache-2.0
// Joins the two reports of an OOM kill. The kernel log has one message for each kill. The BPF
// hook reports the victim's cgroup, also if kills are frequent, but it also reports victims that were already exiting, which the
// kernel does not count.
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
  int64_t time_ns = 0;  // CLOCK_MONOTONIC time
  int64_t pid = 0;      // 0: unknown
  std::string process;  // empty: unknown
  std::string cgroup;   // empty: unknown
  std::optional<double> resident_mib;
};

inline constexpr size_t kMaxVictims = 4096;  // maximum unmatched marks, and maximum known kills; the oldest ones are removed

class Victims {
 public:
  explicit Victims(uint64_t page_size) : page_size_(page_size) {}

  // Read the log before the marks: the hook runs before the kernel writes the message, so the mark of each logged kill is available
  // then.
  void add(const Kill &kill, int64_t time_ns);
  void add(const KillCgroup &place);
  void add(const oom_mark &mark, std::string cgroup);

  // Returns the kills since the last call. `is_logged`: the log is readable and has lost no message.
  std::vector<Victim> take(bool is_logged);

 private:
  struct Mark {
    Victim victim;
    uint64_t start_ns = 0;
    int waited = 0;
  };
  struct Known {
    uint64_t start_ns = 0;
    int age = 0;  // number of calls of take since the mark
  };
  bool is_new(const Mark &mark);

  const uint64_t page_size_;
  std::vector<Victim> logged_;
  std::map<int64_t, std::string> places_;  // cgroups by pid of the victim
  std::map<int64_t, Mark> marks_;          // by pid
  std::map<int64_t, Known> known_;         // by pid: kills that were reported from their mark
};

}  // namespace atalaya::kernel
