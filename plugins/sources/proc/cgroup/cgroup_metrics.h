// SPDX-License-Identifier: Apache-2.0
// The metrics of a cgroup. CPU, memory, I/O and tasks include those of nested cgroups; limits and throttling do not.
#pragma once

#include <atalaya/plugin.hpp>

#include <array>

#include "plugins/shared/io/samples/metric_values.h"

namespace atalaya::proc {

inline constexpr MetricTag kCgroupTags[] = {metric::identity("cgroup")};

// clang-format off
inline constexpr std::array kCgroupMetrics = {
    metric::rate("cgroup.cpu.usage", "%", 2, kCgroupTags, "cpu.stat usage_usec; cpuacct.usage", "CPU time; 100 is one core"),
    metric::rate("cgroup.cpu.user", "%", 2, kCgroupTags, "cpu.stat user_usec; cpuacct.stat user", "CPU time in user mode; 100 is one core"),
    metric::rate("cgroup.cpu.kernel", "%", 2, kCgroupTags, "cpu.stat system_usec; cpuacct.stat system", "CPU time in kernel mode; 100 is one core"),
    metric::gauge("cgroup.cpu.limit", "{core}", 3, kCgroupTags, "cpu.max; cpu.cfs_quota_us, cpu.cfs_period_us", "CPU limit in cores; absent without a limit"),
    metric::rate("cgroup.cpu.throttled.periods", "/s", 2, kCgroupTags, "cpu.stat nr_throttled", "Periods in which the cgroup was throttled"),
    metric::rate("cgroup.cpu.throttled.time", "ms/s", 2, kCgroupTags, "cpu.stat throttled_usec; throttled_time", "Time throttled, summed over the cores"),

    metric::gauge("cgroup.mem.usage", "MiBy", 2, kCgroupTags, "memory.current; memory.usage_in_bytes", "Memory charged, page cache included"),
    metric::gauge("cgroup.mem.limit", "MiBy", 2, kCgroupTags, "memory.max; memory.limit_in_bytes", "Memory limit; absent without a limit"),
    metric::gauge("cgroup.mem.high", "MiBy", 2, kCgroupTags, "memory.high", "Memory throttling threshold; absent without a limit"),
    metric::gauge("cgroup.mem.peak", "MiBy", 2, kCgroupTags, "memory.peak; memory.max_usage_in_bytes", "Maximum memory charged so far"),
    metric::gauge("cgroup.mem.cache", "MiBy", 2, kCgroupTags, "memory.stat file; total_cache", "Page cache"),
    metric::gauge("cgroup.mem.rss", "MiBy", 2, kCgroupTags, "memory.stat anon; total_rss", "Anonymous memory"),
    metric::gauge("cgroup.mem.swap", "MiBy", 2, kCgroupTags, "memory.swap.current; memory.stat total_swap", "Memory in swap"),
    metric::delta("cgroup.mem.oom.kills", "1", metric::count, kCgroupTags, "memory.events oom_kill; memory.oom_control oom_kill", "Processes that the OOM killer ended in the window"),

    metric::rate("cgroup.disk.read.bytes", "By/s", 0, kCgroupTags, "io.stat rbytes; blkio.throttle.io_service_bytes", "Data read, all disks together"),
    metric::rate("cgroup.disk.read.ios", "/s", 2, kCgroupTags, "io.stat rios; blkio.throttle.io_serviced", "Reads, all disks together"),
    metric::rate("cgroup.disk.write.bytes", "By/s", 0, kCgroupTags, "io.stat wbytes; blkio.throttle.io_service_bytes", "Data written, all disks together"),
    metric::rate("cgroup.disk.write.ios", "/s", 2, kCgroupTags, "io.stat wios; blkio.throttle.io_serviced", "Writes, all disks together"),

    metric::gauge("cgroup.tasks", "1", metric::count, kCgroupTags, "pids.current", "Processes and threads"),
    metric::gauge("cgroup.tasks.limit", "1", metric::count, kCgroupTags, "pids.max", "Maximum of processes and threads; absent without a limit"),

    metric::gauge("cgroup.pressure.cpu.some", "%", 2, kCgroupTags, "cpu.pressure some avg10", "Share of the last 10 s with at least one task waiting for a CPU"),
    metric::rate("cgroup.pressure.cpu.some.stall", "%", 2, kCgroupTags, "cpu.pressure some total", "Share of the window with at least one task waiting for a CPU"),
    metric::gauge("cgroup.pressure.cpu.full", "%", 2, kCgroupTags, "cpu.pressure full avg10", "Share of the last 10 s with all tasks waiting for a CPU"),
    metric::rate("cgroup.pressure.cpu.full.stall", "%", 2, kCgroupTags, "cpu.pressure full total", "Share of the window with all tasks waiting for a CPU"),
    metric::gauge("cgroup.pressure.memory.some", "%", 2, kCgroupTags, "memory.pressure some avg10", "Share of the last 10 s with at least one task waiting for memory"),
    metric::rate("cgroup.pressure.memory.some.stall", "%", 2, kCgroupTags, "memory.pressure some total", "Share of the window with at least one task waiting for memory"),
    metric::gauge("cgroup.pressure.memory.full", "%", 2, kCgroupTags, "memory.pressure full avg10", "Share of the last 10 s with all tasks waiting for memory"),
    metric::rate("cgroup.pressure.memory.full.stall", "%", 2, kCgroupTags, "memory.pressure full total", "Share of the window with all tasks waiting for memory"),
    metric::gauge("cgroup.pressure.io.some", "%", 2, kCgroupTags, "io.pressure some avg10", "Share of the last 10 s with at least one task waiting for I/O"),
    metric::rate("cgroup.pressure.io.some.stall", "%", 2, kCgroupTags, "io.pressure some total", "Share of the window with at least one task waiting for I/O"),
    metric::gauge("cgroup.pressure.io.full", "%", 2, kCgroupTags, "io.pressure full avg10", "Share of the last 10 s with all tasks waiting for I/O"),
    metric::rate("cgroup.pressure.io.full.stall", "%", 2, kCgroupTags, "io.pressure full total", "Share of the window with all tasks waiting for I/O"),
};
// clang-format on

using CgroupValues = io::MetricValues<kCgroupMetrics>;

}  // namespace atalaya::proc
