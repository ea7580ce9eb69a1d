// SPDX-License-Identifier: Apache-2.0
// Computes the profile of one JVM from successive thread dumps. Pure.
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

// Numbers of threads by state at one dump; only threads with Java code.
struct ThreadCounts {
  uint64_t running = 0;  // used CPU time
  uint64_t native = 0;   // RUNNABLE without CPU time, mostly in a system call
  uint64_t blocked = 0, waiting = 0, sleeping = 0;
};

// CPU time of the process since its start: when a dump was requested, and after its answer.
struct ProcessCpu {
  int64_t before_ns = 0, after_ns = 0;
};

class Profile {
 public:
  // Further threads of a dump are ignored.
  static constexpr size_t kMaxThreads = 16384;
  // A thread's CPU time is reported as not seen running if it was not seen running for this long, at most twice as long.
  static constexpr int64_t kMaxDebtAge = 300'000'000'000;

  using Names = std::shared_ptr<const tasks::TaskNames>;

  // all_threads: include the stacks of waiting threads. names: of threads that run tasks; null: none.
  explicit Profile(bool all_threads, const StackTree::Limits &limits = {}, Names names = nullptr)
      : all_threads_(all_threads), names_(std::move(names)) {
    window_.tree = StackTree(limits);
  }

  // Adds a complete dump, requested at time_ns. The CPU time of a thread since it was last seen running is attributed to its
  // current stack when it is seen running. The first dump is the baseline. Time beyond that of the process, if known, is left out.
  void take(std::string_view dump, int64_t time_ns, const std::optional<ProcessCpu> &process = {});
  // A dump is missing: the threads' activity since the last one is unknown.
  void interrupt();

  // Of the dumps since the last call.
  struct Window {
    StackTree tree;
    uint64_t dumps = 0;
    std::optional<int64_t> cpu_ns;        // CPU time of threads with Java code between them; nothing: unknown
    std::optional<ThreadCounts> threads;  // at the last of them
    int64_t excess_ns = 0;                // left out, because the process took less
    int64_t covered_ns = 0;               // time between them
    bool is_model = false;                // the JVM does not report the CPU time of threads

    // The time to which amounts of CPU time refer: the first dump may be later than a window after the one before it.
    int64_t span_ns(int64_t window_ns) const { return std::max(window_ns, covered_ns); }
  };
  // `limits`: of the next window's tree.
  Window take_window(const StackTree::Limits &limits);
  // CPU time of the thread that answers, between the last two dumps.
  int64_t answering_ns() const { return answering_ns_; }
  // Threads that ran at the last dump.
  uint64_t running() const { return running_; }

 private:
  struct Known {
    int64_t cpu_ns = 0;
    int64_t owed_ns = 0;  // CPU time not yet attributed to a stack
    int64_t old_ns = 0;   // the part of owed_ns that is old
    uint64_t dump = 0;    // the last dump that contained it
    bool is_java = false;
    std::string name;  // with tasks only
    tasks::TaskTags task;
    bool is_mixed = false;  // it had another name for a part of the time that is not yet attributed
  };

  // CPU time since the last dump. Nothing: not reported by the JVM.
  std::optional<int64_t> taken(const DumpedThread &thread, Known &known, bool is_new) const;
  void allow(std::string_view dump, int64_t passed_ns, const std::optional<ProcessCpu> &process);
  // The part of the time that the process can have taken.
  int64_t claim(int64_t ns);
  void take_thread(const DumpedThread &thread, int64_t passed_ns);
  bool is_running(const DumpedThread &thread, const Known &known, std::optional<int64_t> cpu, int64_t passed_ns) const;
  void name(const DumpedThread &thread, Known &known, bool is_new) const;
  void count(const DumpedThread &thread, bool is_running);
  void give_up(Known &known, int64_t ns);
  void give_up_old();

  bool all_threads_;
  Names names_;
  Window window_;
  std::unordered_map<uint64_t, Known> threads_;
  std::optional<int64_t> last_ns_;
  uint64_t dumps_ = 0;
  int64_t answering_ns_ = 0, aged_ns_ = 0;
  std::optional<ProcessCpu> process_;  // at the last dump
  int64_t unclaimed_ns_ = 0;           // of the process since the baseline, without the time of threads with Java code
  // Of the current dump.
  ThreadCounts counts_;
  uint64_t running_ = 0;
  int64_t dump_cpu_ns_ = 0, allowed_ns_ = 0, modelled_ns_ = 0;
  bool has_cpu_ = false, is_full_ = false, was_full_ = false;
  DumpedThread thread_;  // a reused buffer
};

}  // namespace atalaya::jvm
