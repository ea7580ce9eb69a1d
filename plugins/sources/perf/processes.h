// SPDX-License-Identifier: Apache-2.0
// The sampled processes and their memory maps. Maps are read as soon as a process is first sampled, while it lives, so
// that its stacks have names even if it ends before the window does.
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
  tasks::TaskTags task;              // that the whole process runs
  uint64_t refreshed = 0, used = 0;  // windows
  int64_t read_ns = 0;
  size_t bytes() const { return sizeof(Process) + memory.bytes() + cgroup.capacity(); }
};

// Limits of immediate reads per second: processes, new processes, and bytes of maps and names.
class ReadLimit {
 public:
  static constexpr size_t kProcesses = 50, kNew = 10, kBytes = size_t{32} << 20;

  // At most one read per process and second; the caller reports its size with `took`.
  bool allows(const ProcessId &id, bool again, int64_t now_ns);
  void took(size_t bytes) { bytes_ += bytes; }

 private:
  std::set<ProcessId> read_;
  size_t bytes_ = 0;
  int64_t second_ = 0;
};

class Processes {
 public:
  // jvm: null disables requests for perf maps. with_tasks: finds the tasks of processes in their command lines.
  Processes(size_t max_bytes, jvm::PerfMapRefresh *jvm, bool with_tasks = false)
      : max_bytes_(max_bytes), jvm_(jvm), with_tasks_(with_tasks) {}

  // Called from one other thread for a new process. ReadLimit bounds the reads per second and prefers processes that are sampled
  // again, because most new ones are short-lived.
  void see(const ProcessId &id, bool again);

  // The methods below are called from one thread.
  void next_window();
  // Null: unknown, because it ended before it could be read. Valid until the next call.
  Process *find(const ProcessId &id);
  // Once per window: reads changed maps, and requests a perf map from a JVM.
  void refresh(const ProcessId &id, Process &process);
  size_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<Process> read(const ProcessId &id) const;
  void keep(const ProcessId &id, std::unique_ptr<Process> process);
  void make_room(const Process *wanted);

  size_t max_bytes_, bytes_ = 0;
  jvm::PerfMapRefresh *jvm_;
  bool with_tasks_;
  uint64_t window_ = 0;
  std::map<ProcessId, std::unique_ptr<Process>> known_;

  std::mutex mutex_;  // guards the two members below
  std::vector<std::pair<ProcessId, std::unique_ptr<Process>>> fresh_;
  size_t fresh_bytes_ = 0;

  ReadLimit limit_;  // used by `see` only
};

}  // namespace atalaya::perf
