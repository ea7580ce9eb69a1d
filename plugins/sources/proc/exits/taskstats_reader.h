// SPDX-License-Identifier: Apache-2.0
// Messages of the kernel's taskstats interface when a task (a thread) ends: netlink messages with the records of
// linux/taskstats.h. Pure functions on untrusted bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "plugins/shared/host/network/netlink.h"
#include "plugins/shared/host/procfs/process_reading.h"

namespace atalaya::proc {

using network::Bytes;
using network::NetlinkMessage;
constexpr uint64_t kMicrosecondsPerSecond = 1'000'000;

// The id in the generic netlink controller's response to CTRL_CMD_GETFAMILY.
std::optional<uint16_t> family_of(const NetlinkMessage &message);

// CPU time of the kernel: exact, and in ticks, by which it is divided.
struct TaskCpu {
  uint64_t exec_ns = 0;
  uint64_t user_us = 0, kernel_us = 0;
};
// Divides it as /proc/PID/stat does. Without a tick all is user time, except for a kernel thread; without the exact time the ticks
// are the time.
void set_cpu(const TaskCpu &cpu, bool kernel_thread, procfs::Known<procfs::Counter, procfs::kCounters> &counters);

// The usage of all ended threads together, summed by the kernel.
struct ThreadsTotal {
  uint64_t exec_ns = 0;
  std::optional<uint64_t> delay_ns;
};

// The end of one thread.
struct TaskEnd {
  uint16_t version = 0;
  int32_t pid = 0;
  int32_t process = 0;  // the pid of its process; 0: not reported (before version 12)
  int32_t parent = 0;   // of the process
  bool kernel_thread = false;
  bool last = false;  // the process ended with it
  procfs::Name name;
  uint64_t elapsed_us = 0, process_elapsed_us = 0;
  int64_t end_s = 0;  // Unix time, rounded down
  TaskCpu cpu;
  procfs::Known<procfs::Counter, procfs::kCounters> counters;  // without CPU time
  std::optional<ThreadsTotal> total;                           // when it is the last one of several
};

// A record of a thread's end, from a message of the taskstats family. Empty for other or malformed messages.
std::optional<TaskEnd> task_end(Bytes payload);

}  // namespace atalaya::proc
