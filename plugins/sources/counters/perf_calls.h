// SPDX-License-Identifier: Apache-2.0
// The system calls of perf events behind an interface, so that tests can replace the kernel.
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace atalaya::counters {

// The scope of an event: a CPU, a thread, or a cgroup on a CPU.
struct Scope {
  int pid = -1;  // -1: all processes; for a cgroup: the descriptor of its folder
  int cpu = -1;  // -1: all CPUs
  bool cgroup = false;
};

class PerfCalls {
 public:
  virtual ~PerfCalls() = default;
  // Returns a descriptor or a negative error number. `leader`: descriptor of the leader of the group to join; -1: leads a new
  // group.
  virtual int open(const perf_event_attr &attributes, const Scope &scope, int leader) = 0;
  // Returns the number of words read, or a negative error number.
  virtual ssize_t read(int event, std::span<uint64_t> words) = 0;
  virtual void close(int event) = 0;
};

PerfCalls &kernel_calls();

}  // namespace atalaya::counters
