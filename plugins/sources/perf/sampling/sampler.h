// SPDX-License-Identifier: Apache-2.0
// Interface of both samplers (BPF and perf ring): stacks of threads that run on CPUs or wait.
#pragma once

#include <atalaya/plugin.hpp>

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "plugins/shared/code/probes/attachment.h"
#include "plugins/shared/code/probes/regions.h"
#include "plugins/shared/io/match/matcher.h"

namespace atalaya::perf {

struct ProcessId {
  int32_t pid = 0;
  uint64_t start_ns = 0;                                // time since boot
  uint64_t image = 0;                                   // symbols::image_mark; 0: a kernel thread, or unknown
  auto operator<=>(const ProcessId &) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 reads a 0 into it
};

// End of the user part of a stack: the thread's first function (root), the kernel's frame limit or the end of the copied memory
// (truncated), or an unknown caller (failed). Frame pointers do not say which (unknown).
enum class End : uint8_t { unknown, root, truncated, failed };

struct StackCount {
  ProcessId process;
  std::string_view comm;
  bool off_cpu = false;
  bool queued = false;                          // off-CPU: the thread waited for a CPU
  bool has_user = false;                        // a user process, not a kernel thread
  bool kernel_lost = false, user_lost = false;  // the stack was dropped because the map was full
  End end = End::unknown;
  std::span<const uint64_t> kernel, user;  // leaf first
  uint64_t count = 0;
  uint64_t ns = 0;      // off-CPU: waiting time
  uint32_t thread = 0;  // thread id if the thread may run tasks, else 0
  int64_t epoch = 0;    // CLOCK_MONOTONIC time at which the thread got its name or entered its region; 0: before the first window
  std::string_view thread_name;  // the kernel's name, at most 15 bytes
  uint32_t region = 0;           // 1 + index of the code region; 0: none. thread 0: the run may be too short for a task
};

// A thread that may run tasks got a name, perhaps the same one again.
struct Renamed {
  ProcessId process;
  uint32_t thread = 0;
  int64_t epoch = 0;  // time in the form of StackCount::epoch
  std::string name;   // the kernel's name, at most 15 bytes
};

// A run of a region that is a task has ended.
struct TaskRun {
  ProcessId process;
  std::string comm;
  uint32_t thread = 0, region = 0;
  int64_t epoch = 0, end_ns = 0;  // time in the form of StackCount::epoch
};
struct TaskRuns {
  std::vector<TaskRun> runs;
  uint64_t lost = 0;
};

// The waker: the event that ended a wait during a burst. Unknown members have their default values.
struct Waker {
  ProcessId process;
  uint32_t thread = 0;  // the thread that ran (or was interrupted) when the wait ended; 0: none
  bool is_kernel_thread = false;
  std::string_view process_name, thread_name;
  std::span<const uint64_t> kernel, user;  // stack of that thread; user: only if it belongs to the same process
  bool has_ended = true;                   // the wait ended within the burst
  std::string remote;                      // remote address of the socket that received data; "": none
  uint16_t port = 0;                       // server's port of this connection
  bool is_server = false;                  // the waiting thread is the server
  std::string_view disk;                   // disk that finished a request; "": none
};
using WaitCallback = std::function<void(const StackCount &, const Waker &)>;

struct BurstTotals {
  uint64_t waits = 0, lost = 0;
  uint64_t unknown = 0;   // thread switches that were not recorded because a map was full
  uint64_t cost_ns = 0;   // CPU time in the kernel
  int64_t length_ns = 0;  // total length of the ended bursts
};

struct Totals {
  uint64_t samples = 0, lost = 0;
  uint64_t not_copied = 0;  // stacks not copied because the ring was full; frame pointers were used
  uint64_t cost_ns = 0;     // CPU time in the kernel; 0: unknown
};

struct SamplerOptions {
  int frequency = 101;
  std::string event = "auto";
  bool on_cpu = true, off_cpu = false;
  int64_t min_wait_ns = 1'000'000;
  uint32_t max_stacks = 16384;
  bool dwarf = false;                      // copy stacks and unwind them with the DWARF tables of the files
  bool dwarf_if_needed = false;            // use dwarf only for processes with files that lack frame pointers
  io::MatcherList dwarf_processes;         // empty: all
  size_t dwarf_memory = size_t{32} << 20;  // maximum bytes of unwind tables
  bool run_queue = false;                  // off-CPU: include waits for a CPU
  int64_t burst_ns = 0;                    // length of a burst that records wakers; 0: none
  int64_t burst_every_ns = 60'000'000'000;
  std::vector<std::string> task_threads;  // name prefixes of threads that may run tasks
  std::vector<uint8_t> task_regions;      // by region: 1 if the region ends where its function returns
  int64_t min_task_ns = 0;                // shorter runs of regions are no tasks
  uint64_t max_task_spans = 100;          // maximum spans per region and second
};

class Sampler {
 public:
  using Callback = std::function<void(const StackCount &)>;
  using OnSampled = std::function<void(const ProcessId &, bool again)>;

  virtual ~Sampler() = default;
  // Runs on a separate thread until the descriptor `stop` is readable. Calls `on_sampled` for each new process while it lives, and
  // a second time when it is sampled again.
  virtual void pump(int stop, const OnSampled &on_sampled) = 0;
  // Reports all stacks since the last call, grouped by process. The std::span members are valid only during the call of `take`.
  virtual Totals take(const Callback &take) = 0;
  // Reports the waits of all bursts that ended since the last call.
  virtual BurstTotals collect_bursts(const WaitCallback &) { return {}; }
  // Returns the renames of threads since the last call; called on the thread of pump().
  virtual std::vector<Renamed> collect_renames() { return {}; }
  // Attaches the probes of a region whose runs are tasks.
  virtual core::Result<std::unique_ptr<probes::Attachment>> attach_region(uint32_t /*region*/, int /*file*/,
                                                                          const probes::Points & /*points*/) {
    return core::Error{"task_regions requires BPF"};
  }
  // Returns the task runs that ended since the last call.
  virtual TaskRuns collect_runs() { return {}; }
  // Returns true if StackCount::thread is set.
  virtual bool knows_threads() const { return false; }
  // The event that samples: "cycles" or "cpu-clock".
  virtual std::string_view event() const = 0;
};

core::Result<std::unique_ptr<Sampler>> open_bpf_sampler(const SamplerOptions &options);
core::Result<std::unique_ptr<Sampler>> open_ring_sampler(const SamplerOptions &options);

}  // namespace atalaya::perf
