// SPDX-License-Identifier: Apache-2.0
// Joins two reports of thread names: the kernel reports the time of a rename and the first 15
// bytes; a thread dump of the JVM has the complete name. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugins/shared/code/tasks/task_names.h"
#include "plugins/sources/perf/sampling/sampler.h"

namespace atalaya::perf {

class TaskThreads {
 public:
  static constexpr size_t kMaxNames = 65536;   // maximum names of all threads
  static constexpr size_t kMaxShortName = 15;  // bytes of a thread name in the kernel

  explicit TaskThreads(const tasks::TaskNames &names) : names_(names), prefixes_(names.prefixes()) {}

  void renamed(const Renamed &thread);
  // Adds a thread whose current name is from before the first window.
  void add_existing(const ProcessId &process, uint32_t thread, std::string_view short_name);
  // Returns the threads whose complete name is unknown, by process.
  std::map<ProcessId, std::vector<uint32_t>> unnamed() const;
  // Adds a thread's complete name from a dump that was requested at begin_ns and complete at end_ns.
  void add_full_name(uint32_t thread, std::string_view name, int64_t begin_ns, int64_t end_ns);
  // Records that a dump of this interval lacks the thread, so it is not a Java thread.
  void mark_absent(uint32_t thread, int64_t begin_ns, int64_t end_ns);
  // Uses the kernel's short names as the complete names of a process that is not a JVM.
  void use_short_names(const ProcessId &process);
  // Returns the task, valid until the next call of another method; null: none, or unknown.
  const tasks::TaskTags *find(uint32_t thread, int64_t epoch) const;
  // Returns true if the complete name is unknown.
  bool is_unnamed(uint32_t thread, int64_t epoch) const;
  // Forgets names that ended before the last window and before this time.
  void next_window(int64_t keeps_since_ns = INT64_MAX);
  size_t size() const { return size_; }

 private:
  struct Name {
    int64_t epoch = 0, end_ns = INT64_MAX;
    ProcessId process;
    std::string short_name;
    bool is_known = false;
    tasks::TaskTags task;
    uint64_t end_window = 0;  // number of the window in which the name ended; 0: it is current
  };
  bool may_be_task(std::string_view short_name) const;
  void add(uint32_t thread, Name name);
  void set_full_name(Name &name, std::string_view text) const;
  // Returns the unknown name that the thread had during all of the interval; null: there is none.
  Name *unknown_at(uint32_t thread, int64_t begin_ns, int64_t end_ns);
  const Name *name_of(uint32_t thread, int64_t epoch) const;

  const tasks::TaskNames &names_;
  const std::vector<std::string> prefixes_;
  std::unordered_map<uint32_t, std::vector<Name>> threads_;  // in order of time
  size_t size_ = 0;
  uint64_t window_ = 1;
};

}  // namespace atalaya::perf
