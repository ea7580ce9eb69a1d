// SPDX-License-Identifier: Apache-2.0
// Parses the netlink messages that the kernel's taskstats interface sends when a task (a thread) ends; linux/taskstats.h describes
// the records. Pure functions on untrusted input.
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

// CPU time of a task: the exact total, and user and kernel time in ticks, from which their ratio is computed.
struct TaskCpu {
  uint64_t exec_ns = 0;
  uint64_t user_us = 0, kernel_us = 0;
};
// Divides the exact time into user and kernel time in the ratio of the ticks, as /proc/PID/stat does. If there are no ticks, all
// is user time (kernel time for a kernel thread). If the exact time is 0, the ticks are the result.
void set_cpu(const TaskCpu &cpu, bool kernel_thread, procfs::Known<procfs::Counter, procfs::kCounters> &counters);

// Sums over all threads of an ended process, made by the kernel.
struct ThreadsTotal {
  uint64_t exec_ns = 0;
  std::optional<uint64_t> delay_ns;
};

// The end of one thread.
struct TaskEnd {
  uint16_t version = 0;
  int32_t pid = 0;
  int32_t process = 0;  // the pid of its process; 0: not reported (before version 12)
  int32_t parent = 0;   // pid of the parent process
  bool kernel_thread = false;
  bool last = false;  // it was the last thread of its process
  procfs::Name name;
  uint64_t elapsed_us = 0, process_elapsed_us = 0;
  int64_t end_s = 0;  // Unix time, rounded down
  TaskCpu cpu;
  procfs::Known<procfs::Counter, procfs::kCounters> counters;  // without CPU time
  std::optional<ThreadsTotal> total;                           // set for the last of several threads
};

// Parses the payload of a message of the taskstats family; nothing when it is malformed or has no record of a thread's end.
std::optional<TaskEnd> task_end(Bytes payload);

}  // namespace atalaya::proc
