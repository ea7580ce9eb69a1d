// SPDX-License-Identifier: Apache-2.0
// The sampled processes and their memory maps. The maps are read when a process is first
// sampled, so that its stacks get names even if it ends before the end of the window.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "plugins/shared/code/jvm/perf_map_refresh.h"
#include "plugins/shared/code/symbols/process/process_memory.h"
#include "plugins/shared/code/tasks/task_names.h"
#include "plugins/sources/perf/sampling/sampler.h"

namespace atalaya::perf {

struct Process {
  explicit Process(int32_t pid) : memory(pid) {}

  symbols::ProcessMemory memory;
  std::string cgroup;                // path
  std::string_view runtime;          // "jvm", "node", "python"; empty: unknown
  tasks::TaskTags task;              // task of the complete process
  uint64_t refreshed = 0, used = 0;  // numbers of the windows in which it was last refreshed, and last used
  int64_t read_ns = 0;
  size_t bytes() const { return sizeof(Process) + memory.bytes() + cgroup.capacity(); }
};

// Limits the immediate reads in a second: the number of processes, the number of new processes, and the bytes of maps and names.
class ReadLimit {
 public:
  static constexpr size_t kProcesses = 50, kNew = 10, kBytes = size_t{32} << 20;

  // Returns true if the process may be read now; maximum one read per process and second. The caller adds the size with add_bytes.
  bool allows(const ProcessId &id, bool again, int64_t now_ns);
  void add_bytes(size_t bytes) { bytes_ += bytes; }

 private:
  std::set<ProcessId> read_;
  size_t bytes_ = 0;
  int64_t current_second_ = 0;
};

class Processes {
 public:
  // jvm: null disables requests for perf maps. with_tasks: finds the tasks of processes in their command lines.
  Processes(size_t max_bytes, jvm::PerfMapRefresh *jvm, bool with_tasks = false)
      : max_bytes_(max_bytes), jvm_(jvm), with_tasks_(with_tasks) {}

  // Reads a process that was sampled for the first time or, if `again`, a second time; called on one other thread. ReadLimit allows
  // more of the latter, because most new processes are short-lived.
  void read_sampled(const ProcessId &id, bool again);

  // The methods below are called on one thread.
  void next_window();
  // Returns the process, valid until the next call; null if it ended before it was read.
  Process *find(const ProcessId &id);
  // Called once per window and process: reads changed maps, and requests a perf map from a JVM.
  void refresh(const ProcessId &id, Process &process);
  size_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<Process> read(const ProcessId &id) const;
  void store_process(const ProcessId &id, std::unique_ptr<Process> process);
  void evict_for(const Process *wanted);

  size_t max_bytes_, bytes_ = 0;
  jvm::PerfMapRefresh *jvm_;
  bool with_tasks_;
  uint64_t window_ = 0;
  std::map<ProcessId, std::unique_ptr<Process>> known_;

  std::mutex mutex_;  // guards the two members below
  std::vector<std::pair<ProcessId, std::unique_ptr<Process>>> new_processes_;
  size_t fresh_bytes_ = 0;

  ReadLimit limit_;  // used by `read_sampled` only
};

}  // namespace atalaya::perf
