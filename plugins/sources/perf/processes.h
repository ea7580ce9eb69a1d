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

#include "plugins/shared/jvm/perf_map_refresh.h"
#include "plugins/sources/perf/sampler.h"
#include "plugins/shared/symbols/process_memory.h"

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

// What is read at once, each second: so many processes, few of them new, and so many bytes of what they have mapped and named.
class ReadLimit {
 public:
  static constexpr size_t kProcesses = 50, kNew = 10, kBytes = size_t{32} << 20;

  // Once a process and second. What was read is told by `took`.
  bool allows(const ProcessId &id, bool again, int64_t now_ns);
  void took(size_t bytes) { bytes_ += bytes; }

 private:
  std::set<ProcessId> read_;
  size_t bytes_ = 0;
  int64_t second_ = 0;
};

class Processes {
 public:
  // jvm: null: JVMs are not asked for the names of their code.
  Processes(size_t max_bytes, jvm::PerfMapRefresh *jvm) : max_bytes_(max_bytes), jvm_(jvm) {}

  // From one other thread: a process that is new. Only so much is read each second, most of it of those that are seen again: those
  // that come and go are many.
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

  ReadLimit limit_;  // of `see` alone
};

}  // namespace atalaya::perf
