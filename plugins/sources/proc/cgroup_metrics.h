// SPDX-License-Identifier: Apache-2.0
// What the samples of a cgroup carry. CPU, memory, I/O and tasks include those of the cgroups in it; limits and throttling are its
// own.
#pragma once

#include <atalaya/plugin.hpp>

#include <array>

#include "plugins/sources/proc/host_metric_values.h"

namespace atalaya::proc {

inline constexpr std::array kCgroupTags = {identity_tag("cgroup")};

// clang-format off
inline constexpr std::array kCgroupMetrics = {
    rate("cgroup.cpu.usage", "%", 2, kCgroupTags, "cpu.stat usage_usec; cpuacct.usage", "CPU time, of one core."),
    rate("cgroup.cpu.user", "%", 2, kCgroupTags, "cpu.stat user_usec; cpuacct.stat user", "CPU time in user mode, of one core."),
    rate("cgroup.cpu.kernel", "%", 2, kCgroupTags, "cpu.stat system_usec; cpuacct.stat system", "CPU time in kernel mode, of one core."),
    gauge("cgroup.cpu.limit", "{core}", 3, kCgroupTags, "cpu.max; cpu.cfs_quota_us, cpu.cfs_period_us", "Cores that it may use; absent without a limit."),
    rate("cgroup.cpu.throttled.periods", "1/s", 2, kCgroupTags, "cpu.stat nr_throttled", "Periods in which it met its limit."),
    rate("cgroup.cpu.throttled.time", "ms/s", 2, kCgroupTags, "cpu.stat throttled_usec; throttled_time", "Time that its cores were held back, summed over the cores."),

    gauge("cgroup.mem.usage", "MiBy", 2, kCgroupTags, "memory.current; memory.usage_in_bytes", "Memory charged, page cache included."),
    gauge("cgroup.mem.limit", "MiBy", 2, kCgroupTags, "memory.max; memory.limit_in_bytes", "Memory at which it is killed; absent without a limit."),
    gauge("cgroup.mem.high", "MiBy", 2, kCgroupTags, "memory.high", "Memory at which it is slowed down; absent without a limit."),
    gauge("cgroup.mem.peak", "MiBy", 2, kCgroupTags, "memory.peak; memory.max_usage_in_bytes", "The most that was ever charged."),
    gauge("cgroup.mem.cache", "MiBy", 2, kCgroupTags, "memory.stat file; total_cache", "Page cache."),
    gauge("cgroup.mem.rss", "MiBy", 2, kCgroupTags, "memory.stat anon; total_rss", "Memory of its processes that is no file's."),
    gauge("cgroup.mem.swap", "MiBy", 2, kCgroupTags, "memory.swap.current; memory.stat total_swap", "Memory in swap."),
    delta("cgroup.mem.oom.kills", "1", -1, kCgroupTags, "memory.events oom_kill; memory.oom_control oom_kill", "Processes killed in the window because memory was out."),

    rate("cgroup.disk.read.bytes", "By/s", 0, kCgroupTags, "io.stat rbytes; blkio.throttle.io_service_bytes", "Data read, all disks together."),
    rate("cgroup.disk.read.ios", "1/s", 2, kCgroupTags, "io.stat rios; blkio.throttle.io_serviced", "Reads, all disks together."),
    rate("cgroup.disk.write.bytes", "By/s", 0, kCgroupTags, "io.stat wbytes; blkio.throttle.io_service_bytes", "Data written, all disks together."),
    rate("cgroup.disk.write.ios", "1/s", 2, kCgroupTags, "io.stat wios; blkio.throttle.io_serviced", "Writes, all disks together."),

    gauge("cgroup.tasks", "1", -1, kCgroupTags, "pids.current", "Processes and threads."),
    gauge("cgroup.tasks.limit", "1", -1, kCgroupTags, "pids.max", "Processes and threads that it may have; absent without a limit."),

    gauge("cgroup.pressure.cpu.some", "%", 2, kCgroupTags, "cpu.pressure some avg10", "Time, mean of 10 s, in which a task of it waited for a CPU."),
    rate("cgroup.pressure.cpu.some.stall", "%", 2, kCgroupTags, "cpu.pressure some total", "The same over the window."),
    gauge("cgroup.pressure.cpu.full", "%", 2, kCgroupTags, "cpu.pressure full avg10", "Time, mean of 10 s, in which all its tasks waited for a CPU."),
    rate("cgroup.pressure.cpu.full.stall", "%", 2, kCgroupTags, "cpu.pressure full total", "The same over the window."),
    gauge("cgroup.pressure.memory.some", "%", 2, kCgroupTags, "memory.pressure some avg10", "Time, mean of 10 s, in which a task of it waited for memory."),
    rate("cgroup.pressure.memory.some.stall", "%", 2, kCgroupTags, "memory.pressure some total", "The same over the window."),
    gauge("cgroup.pressure.memory.full", "%", 2, kCgroupTags, "memory.pressure full avg10", "Time, mean of 10 s, in which all its tasks waited for memory."),
    rate("cgroup.pressure.memory.full.stall", "%", 2, kCgroupTags, "memory.pressure full total", "The same over the window."),
    gauge("cgroup.pressure.io.some", "%", 2, kCgroupTags, "io.pressure some avg10", "Time, mean of 10 s, in which a task of it waited for I/O."),
    rate("cgroup.pressure.io.some.stall", "%", 2, kCgroupTags, "io.pressure some total", "The same over the window."),
    gauge("cgroup.pressure.io.full", "%", 2, kCgroupTags, "io.pressure full avg10", "Time, mean of 10 s, in which all its tasks waited for I/O."),
    rate("cgroup.pressure.io.full.stall", "%", 2, kCgroupTags, "io.pressure full total", "The same over the window."),
};
// clang-format on

using CgroupValues = MetricValues<kCgroupMetrics>;

}  // namespace atalaya::proc
