// SPDX-License-Identifier: Apache-2.0
// The tasks of threads over time: the kernel reports when a thread gets a name, and has its first 15 bytes; a dump of a JVM has the
// whole name. Pure.
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
  static constexpr size_t kMaxNames = 65536;  // of all threads
  static constexpr size_t kShort = 15;        // bytes of a name in the kernel

  explicit TaskThreads(const tasks::TaskNames &names) : names_(names), prefixes_(names.prefixes()) {}

  void renamed(const Renamed &thread);
  // A thread that got its name before the first window.
  void meet(const ProcessId &process, uint32_t thread, std::string_view short_name);
  // Threads whose whole name is unknown, by process.
  std::map<ProcessId, std::vector<uint32_t>> unnamed() const;
  // A thread's whole name, seen between these times: of a dump that was requested and answered then.
  void saw(uint32_t thread, std::string_view name, int64_t begin_ns, int64_t end_ns);
  // The thread was in no such dump: it is none of the JVM's own.
  void missed(uint32_t thread, int64_t begin_ns, int64_t end_ns);
  // The process has no longer names than the kernel's.
  void use_short_names(const ProcessId &process);
  // Null: none, or unknown. Valid until the next call of another method.
  const tasks::TaskTags *find(uint32_t thread, int64_t epoch) const;
  // Whether its whole name is unknown.
  bool is_unnamed(uint32_t thread, int64_t epoch) const;
  // Forgets names that ended before the last window and before this time.
  void next_window(int64_t keeps_since_ns = INT64_MAX);
  size_t size() const { return size_; }

 private:
  struct Name {
    int64_t epoch = 0, to_ns = INT64_MAX;
    ProcessId process;
    std::string short_name;
    bool is_known = false;
    tasks::TaskTags task;
    uint64_t ended = 0;  // in this window
  };
  bool may_be_task(std::string_view short_name) const;
  void add(uint32_t thread, Name name);
  void learn(Name &name, std::string_view text) const;
  // Null: it has no unknown name at all these times.
  Name *unknown_at(uint32_t thread, int64_t begin_ns, int64_t end_ns);
  const Name *name_of(uint32_t thread, int64_t epoch) const;

  const tasks::TaskNames &names_;
  const std::vector<std::string> prefixes_;
  std::unordered_map<uint32_t, std::vector<Name>> threads_;  // in order of time
  size_t size_ = 0;
  uint64_t window_ = 1;
};

}  // namespace atalaya::perf
