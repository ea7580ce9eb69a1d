// SPDX-License-Identifier: Apache-2.0
// The processes that were seen, with what they have mapped. What a process maps is read while it lives, as soon as it is seen, so
// that its stacks have names also when it has ended by the end of the window.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "plugins/jvm/perf_map_refresh.h"
#include "plugins/sources/perf/sampler.h"
#include "plugins/symbols/process_memory.h"

namespace atalaya::perf {

struct Process {
  explicit Process(int32_t pid) : memory(pid) {}

  symbols::ProcessMemory memory;
  std::string cgroup;                // path
  std::string_view runtime;          // "jvm", "node", "python"; empty: none that we know
  uint64_t refreshed = 0, used = 0;  // windows
  int64_t read_ns = 0;
  size_t bytes() const { return sizeof(Process) + memory.bytes() + cgroup.capacity(); }
};

class Processes {
 public:
  // jvm: null: JVMs are not asked for the names of their code.
  Processes(size_t max_bytes, jvm::PerfMapRefresh *jvm) : max_bytes_(max_bytes), jvm_(jvm) {}

  // From one other thread: a process that is new. Only so many a second are read, most of them when they are seen again: those that
  // come and go are many.
  void see(const ProcessId &id, bool again);

  // The rest from one thread.
  void next_window();
  // Null: nothing is known of it, as it ended before anyone could look. Valid until the next call.
  Process *find(const ProcessId &id);
  // Once a window: what has changed, and names of code from a JVM.
  void refresh(const ProcessId &id, Process &process);
  size_t bytes() const { return bytes_; }

 private:
  static std::unique_ptr<Process> read(const ProcessId &id);
  void keep(const ProcessId &id, std::unique_ptr<Process> process);
  void make_room(const Process *wanted);

  size_t max_bytes_, bytes_ = 0;
  jvm::PerfMapRefresh *jvm_;
  uint64_t window_ = 0;
  std::map<ProcessId, std::unique_ptr<Process>> known_;

  std::mutex mutex_;  // for those below
  std::vector<std::pair<ProcessId, std::unique_ptr<Process>>> fresh_;
  size_t fresh_bytes_ = 0;

  // Of `see` alone.
  std::set<ProcessId> read_;  // in this second
  int64_t second_ = 0;
};

}  // namespace atalaya::perf
