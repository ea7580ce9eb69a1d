// SPDX-License-Identifier: Apache-2.0
// Computes the CPU profile of one JVM from successive thread dumps. Invariant: the attributed
// CPU time never exceeds that of the process. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "plugins/shared/code/jvm/thread_dump.h"
#include "plugins/shared/code/tasks/task_names.h"
#include "plugins/sources/jvm/profile/stack_tree.h"

namespace atalaya::jvm {

// The number of Java threads in each state at one dump.
struct ThreadCounts {
  uint64_t running = 0;  // used CPU time since the last dump
  uint64_t native = 0;   // RUNNABLE without CPU time, mostly in a system call
  uint64_t blocked = 0, waiting = 0, sleeping = 0;
};

// CPU time of the process since its start: when a dump was requested, and when the dump was complete.
struct ProcessCpu {
  int64_t before_ns = 0, after_ns = 0;
};

class Profile {
 public:
  // Maximum threads of a dump; further ones are ignored.
  static constexpr size_t kMaxThreads = 16384;
  // If no dump shows a thread running for this time (or up to twice this time), its CPU time is reported as "not seen running".
  static constexpr int64_t kMaxUnattributedAge = 300'000'000'000;

  using Names = std::shared_ptr<const tasks::TaskNames>;

  // all_threads: include the stacks of waiting threads. names: finds the tasks of threads by their names; null: no tasks.
  explicit Profile(bool all_threads, const StackTree::Limits &limits = {}, Names names = nullptr)
      : all_threads_(all_threads), names_(std::move(names)) {
    window_.tree = StackTree(limits);
  }

  // Adds a complete dump, requested at time_ns. The first dump is the baseline. When a dump shows a thread running, the thread's
  // CPU time since the last such dump is attributed to its current stack. CPU time above that of the process, if known, is omitted.
  void add(std::string_view dump, int64_t time_ns, const std::optional<ProcessCpu> &process = {});
  // Called when a dump failed: the threads' activity since the last dump is unknown.
  void interrupt();

  // The profile of the dumps since the last call of end_window.
  struct Window {
    StackTree tree;
    uint64_t dumps = 0;
    std::optional<int64_t> cpu_ns;        // CPU time of threads with Java code between the dumps; absent: unknown
    std::optional<ThreadCounts> threads;  // at the last dump of the window
    int64_t excess_ns = 0;                // CPU time omitted because the process used less
    int64_t covered_ns = 0;               // time between the dumps
    bool is_model = false;                // estimate: the JVM does not report the CPU time of threads

    // The interval in which the CPU time was used. It may be longer than the window, because the interval between two dumps may be.
    int64_t span_ns(int64_t window_ns) const { return std::max(window_ns, covered_ns); }
  };
  // Ends the window. `limits`: of the stack tree of the next window.
  Window end_window(const StackTree::Limits &limits);
  // CPU time that the JVM's thread which writes the dumps used between the last two dumps.
  int64_t dump_writer_ns() const { return dump_writer_ns_; }
  // Threads that ran at the last dump.
  uint64_t running() const { return running_; }

 private:
  struct Known {
    int64_t cpu_ns = 0;
    int64_t unattributed_ns = 0;      // CPU time not yet attributed to a stack
    int64_t old_unattributed_ns = 0;  // the part of unattributed_ns that is older than kMaxUnattributedAge
    uint64_t dump = 0;                // number of the last dump with this thread
    bool is_java = false;
    std::string name;  // empty if threads have no tasks
    tasks::TaskTags task;
    bool is_mixed = false;  // the thread was renamed within the time of unattributed_ns
  };

  // Returns the thread's CPU time since the last dump; absent: the JVM does not report it.
  std::optional<int64_t> cpu_since_last_dump(const DumpedThread &thread, Known &known, bool is_new) const;
  void update_limits(std::string_view dump, int64_t passed_ns, const std::optional<ProcessCpu> &process);
  // Returns the part of `ns` that the CPU time of the process covers, and subtracts it from unclaimed_ns_.
  int64_t claim(int64_t ns);
  void add_thread(const DumpedThread &thread, int64_t passed_ns);
  bool is_running(const DumpedThread &thread, const Known &known, std::optional<int64_t> cpu, int64_t passed_ns) const;
  void name(const DumpedThread &thread, Known &known, bool is_new) const;
  void count(const DumpedThread &thread, bool is_running);
  void report_unseen(Known &known, int64_t ns);
  void report_old_unseen();

  bool all_threads_;
  Names names_;
  Window window_;
  std::unordered_map<uint64_t, Known> threads_;
  std::optional<int64_t> last_ns_;
  uint64_t dumps_ = 0;
  int64_t dump_writer_ns_ = 0, old_unattributed_sum_ns_ = 0;
  std::optional<ProcessCpu> process_;  // CPU time of the process at the last dump
  int64_t unclaimed_ns_ = 0;           // CPU time of the process since the baseline that is not claimed by threads with Java code
  // State of the current dump.
  ThreadCounts counts_;
  uint64_t running_ = 0;
  int64_t dump_cpu_ns_ = 0, allowed_ns_ = 0, modelled_ns_ = 0;
  bool has_cpu_ = false, is_full_ = false, was_full_ = false;
  DumpedThread thread_;  // a reused buffer
};

}  // namespace atalaya::jvm
