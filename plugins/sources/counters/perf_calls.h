// SPDX-License-Identifier: Apache-2.0
// The system calls of perf events, behind one interface: tests answer in place of the kernel.
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace atalaya::counters {

// What an event counts: a CPU, a thread, or a cgroup on a CPU.
struct Place {
  int pid = -1;  // -1: whatever runs; of a cgroup a descriptor of its folder
  int cpu = -1;  // -1: wherever it runs
  bool cgroup = false;
};

class PerfCalls {
 public:
  virtual ~PerfCalls() = default;
  // A descriptor, or the negative error number. `leader`: of the group that it joins; -1: it leads one.
  virtual int open(const perf_event_attr &attributes, const Place &place, int leader) = 0;
  // So many words, or the negative error number.
  virtual ssize_t read(int event, std::span<uint64_t> words) = 0;
  virtual void close(int event) = 0;
};

PerfCalls &kernel_calls();

}  // namespace atalaya::counters
