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
  // all_threads: the tree has the stacks of threads that wait too.
  explicit Profile(bool all_threads) : all_threads_(all_threads) {}

  // A whole dump, and when it was asked for. A thread that runs is given the CPU time that it took since it was last seen running,
  // so that all of its CPU time is given to what it was seen doing. The first dump says what later ones are compared with.
  void take(std::string_view dump, int64_t time_ns);
  // A dump is missing: nobody knows what threads did meanwhile.
  void interrupt() { last_ns_.reset(); }

  // Of the dumps since the last call.
  struct Window {
    StackTree tree;
    uint64_t dumps = 0;
    std::optional<ThreadCounts> threads;  // at the last of them
  };
  Window take_window();
  // CPU time of the thread that answers, between the last two dumps.
  int64_t answering_ns() const { return answering_ns_; }

 private:
  struct Known {
    int64_t cpu_ns = 0;
    int64_t owed_ns = 0;  // taken, and not yet given to a stack
    uint64_t dump = 0;    // the last one it was in
  };

  // CPU time since the last dump. Nothing: the JVM does not say.
  std::optional<int64_t> taken(const DumpedThread &thread, Known &known, bool is_new) const;
  void take_thread(const DumpedThread &thread, int64_t passed_ns);
  void count(const DumpedThread &thread, bool is_running);

  bool all_threads_;
  Window window_;
  std::unordered_map<uint64_t, Known> threads_;
  std::optional<int64_t> last_ns_;
  uint64_t dumps_ = 0;
  int64_t answering_ns_ = 0;
  DumpedThread thread_;  // its room is used again
};

}  // namespace atalaya::jvm
