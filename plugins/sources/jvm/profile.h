// SPDX-License-Identifier: Apache-2.0
// What thread dumps of one JVM, one after the other, say of where its time went. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "plugins/sources/jvm/stack_tree.h"
#include "plugins/sources/jvm/thread_dump.h"

namespace atalaya::jvm {

// How many threads did what at one dump. Only those that run Java code.
struct ThreadCounts {
  uint64_t running = 0;  // took CPU time
  uint64_t native = 0;   // RUNNABLE, and took none: in a system call mostly
  uint64_t blocked = 0, waiting = 0, sleeping = 0;
};

class Profile {
 public:
  // Further ones of a dump are not looked at.
  static constexpr size_t kMostThreads = 16384;
  // What a thread took is told as not seen running when it was seen so for no moment in that long, or in twice that long.
  static constexpr int64_t kOldDebt = 300'000'000'000;

  // all_threads: the tree has the stacks of threads that wait too.
  explicit Profile(bool all_threads, const StackTree::Limits &limits = {}) : all_threads_(all_threads) {
    window_.tree = StackTree(limits);
  }

  // A whole dump, and when it was asked for. A thread that runs is given the CPU time that it took since it was last seen running,
  // so that its CPU time is given to what it was seen doing. The first dump says what later ones are compared with.
  void take(std::string_view dump, int64_t time_ns);
  // A dump is missing: nobody knows what threads did meanwhile.
  void interrupt();

  // Of the dumps since the last call.
  struct Window {
    StackTree tree;
    uint64_t dumps = 0;
    std::optional<int64_t> cpu_ns;        // that threads with Java code took between them; nothing: unknown
    std::optional<ThreadCounts> threads;  // at the last of them
    bool is_model = false;                // the JVM does not say what CPU time threads take
  };
  // The next one's tree is of these limits.
  Window take_window(const StackTree::Limits &limits);
  // CPU time of the thread that answers, between the last two dumps.
  int64_t answering_ns() const { return answering_ns_; }
  // Threads that ran at the last dump.
  uint64_t running() const { return running_; }

 private:
  struct Known {
    int64_t cpu_ns = 0;
    int64_t owed_ns = 0;  // taken, and not yet given to a stack
    int64_t old_ns = 0;   // of that, what was owed for long
    uint64_t dump = 0;    // the last one it was in
    bool is_java = false;
  };

  // CPU time since the last dump. Nothing: the JVM does not say.
  std::optional<int64_t> taken(const DumpedThread &thread, Known &known, bool is_new) const;
  void take_thread(const DumpedThread &thread, int64_t passed_ns);
  bool is_running(const DumpedThread &thread, const Known &known, std::optional<int64_t> cpu, int64_t passed_ns) const;
  void count(const DumpedThread &thread, bool is_running);
  void give_up(Known &known, int64_t ns);
  void give_up_old();

  bool all_threads_;
  Window window_;
  std::unordered_map<uint64_t, Known> threads_;
  std::optional<int64_t> last_ns_;
  uint64_t dumps_ = 0;
  int64_t answering_ns_ = 0, aged_ns_ = 0;
  // Of the dump that is taken.
  ThreadCounts counts_;
  uint64_t running_ = 0;
  int64_t dump_cpu_ns_ = 0;
  bool says_cpu_ = false, is_full_ = false, was_full_ = false;
  DumpedThread thread_;  // its room is used again
};

}  // namespace atalaya::jvm
