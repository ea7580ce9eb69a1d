// SPDX-License-Identifier: Apache-2.0
// The metrics of the host. One sample per core, disk, interface and file system; one each for memory, swap, pressure, load, clock
// and activity.
#pragma once

#include <atalaya/plugin.hpp>

#include <array>

#include "plugins/shared/io/samples/metric_values.h"

namespace atalaya::proc {

inline constexpr MetricTag kCoreTags[] = {metric::identity("core")};
inline constexpr MetricTag kDiskTags[] = {metric::identity("disk")};
inline constexpr MetricTag kInterfaceTags[] = {metric::identity("interface")};
inline constexpr MetricTag kMountTags[] = {metric::identity("disk"), metric::identity("mount")};

// clang-format off
inline constexpr std::array kHostMetrics = {
    metric::rate("sys.cpu.user", "%", 2, kCoreTags, "/proc/stat cpuN user, nice", "Time in user mode, niced and guest time included"),
    metric::rate("sys.cpu.kernel", "%", 2, kCoreTags, "/proc/stat cpuN system", "Time in kernel mode without interrupts"),
    metric::rate("sys.cpu.idle", "%", 2, kCoreTags, "/proc/stat cpuN idle", "Idle time without disk I/O in progress"),
    metric::rate("sys.cpu.wait", "%", 2, kCoreTags, "/proc/stat cpuN iowait", "Idle time with disk I/O in progress; absent when the kernel reduces its counter"),
    metric::rate("sys.cpu.usage", "%", 2, kCoreTags, "/proc/stat cpuN user, nice, system, irq, softirq", "Busy time. With usage = \"reference\": user, nice, system and iowait."),
    metric::rate("sys.cpu.nice", "%", 2, kCoreTags, "/proc/stat cpuN nice", "User time of niced processes, a part of sys.cpu.user"),
    metric::rate("sys.cpu.irq", "%", 2, kCoreTags, "/proc/stat cpuN irq", "Time in hardware interrupts"),
    metric::rate("sys.cpu.softirq", "%", 2, kCoreTags, "/proc/stat cpuN softirq", "Time in software interrupts"),
    metric::rate("sys.cpu.steal", "%", 2, kCoreTags, "/proc/stat cpuN steal", "Time that the hypervisor gave to other guests"),
    metric::rate("sys.cpu.guest", "%", 2, kCoreTags, "/proc/stat cpuN guest, guest_nice", "Time of virtual machines on this host, a part of sys.cpu.user"),

    metric::gauge("sys.mem.total", "MiBy", 2, {}, "/proc/meminfo MemTotal", "Memory that the kernel manages"),
    metric::gauge("sys.mem.free", "MiBy", 2, {}, "/proc/meminfo MemFree", "Unused memory"),
    metric::gauge("sys.mem.available", "MiBy", 2, {}, "/proc/meminfo MemAvailable", "Memory available to new processes without swapping; absent before Linux 3.14"),
    metric::gauge("sys.mem.usage", "%", 2, {}, "/proc/meminfo MemAvailable, MemTotal", "Memory that is not available. With usage = \"reference\": not free, page cache included."),
    metric::gauge("sys.mem.buffers", "MiBy", 2, {}, "/proc/meminfo Buffers", "Page cache of block devices"),
    metric::gauge("sys.mem.cached", "MiBy", 2, {}, "/proc/meminfo Cached", "Page cache of files, shared memory included"),
    metric::gauge("sys.mem.active", "MiBy", 2, {}, "/proc/meminfo Active", "Memory used recently"),
    metric::gauge("sys.mem.inactive", "MiBy", 2, {}, "/proc/meminfo Inactive", "Memory not used recently, reclaimed first"),
    metric::gauge("sys.mem.dirty", "MiBy", 2, {}, "/proc/meminfo Dirty", "Page cache that waits for writeback"),
    metric::gauge("sys.mem.writeback", "MiBy", 2, {}, "/proc/meminfo Writeback", "Page cache under writeback"),
    metric::gauge("sys.mem.slab", "MiBy", 2, {}, "/proc/meminfo Slab", "Memory of kernel data structures"),
    metric::gauge("sys.mem.shared", "MiBy", 2, {}, "/proc/meminfo Shmem", "Shared memory and tmpfs"),
    metric::rate("sys.mem.pgin.bytes", "By/s", 0, {}, "/proc/vmstat pgpgin", "Bytes read from block devices"),
    metric::rate("sys.mem.pgout.bytes", "By/s", 0, {}, "/proc/vmstat pgpgout", "Bytes written to block devices"),
    metric::rate("sys.mem.faults.minor", "/s", 1, {}, "/proc/vmstat pgfault, pgmajfault", "Page faults served from memory"),
    metric::rate("sys.mem.faults.major", "/s", 1, {}, "/proc/vmstat pgmajfault", "Page faults that read from disk"),
    metric::delta("sys.mem.oom.kills", "1", metric::count, {}, "/proc/vmstat oom_kill", "Processes that the OOM killer ended in the window"),

    metric::gauge("sys.swap.total", "MiBy", 2, {}, "/proc/meminfo SwapTotal", "Swap space"),
    metric::gauge("sys.swap.free", "MiBy", 2, {}, "/proc/meminfo SwapFree", "Unused swap space"),
    metric::gauge("sys.swap.cached", "MiBy", 2, {}, "/proc/meminfo SwapCached", "Memory that is also in swap"),
    metric::rate("sys.swap.in.bytes", "By/s", 0, {}, "/proc/vmstat pswpin", "Bytes read from swap"),
    metric::rate("sys.swap.out.bytes", "By/s", 0, {}, "/proc/vmstat pswpout", "Bytes written to swap"),

    metric::rate("sys.disk.read.mb", "MiBy/s", 3, kDiskTags, "/proc/diskstats sectors read", "Data read"),
    metric::rate("sys.disk.read.ios", "/s", 2, kDiskTags, "/proc/diskstats reads completed", "Reads completed"),
    metric::rate("sys.disk.read.merges", "/s", 2, kDiskTags, "/proc/diskstats reads merged", "Reads merged with an adjacent one before they were issued"),
    metric::rate("sys.disk.read.time", "ms/s", 2, kDiskTags, "/proc/diskstats time reading", "Time of all reads together"),
    metric::gauge("sys.disk.read.await", "ms", 3, kDiskTags, "/proc/diskstats time reading, reads completed", "Mean time of the reads completed in the window; absent without reads"),
    metric::rate("sys.disk.write.mb", "MiBy/s", 3, kDiskTags, "/proc/diskstats sectors written", "Data written"),
    metric::rate("sys.disk.write.ios", "/s", 2, kDiskTags, "/proc/diskstats writes completed", "Writes completed"),
    metric::rate("sys.disk.write.merges", "/s", 2, kDiskTags, "/proc/diskstats writes merged", "Writes merged with an adjacent one before they were issued"),
    metric::rate("sys.disk.write.time", "ms/s", 2, kDiskTags, "/proc/diskstats time writing", "Time of all writes together"),
    metric::gauge("sys.disk.write.await", "ms", 3, kDiskTags, "/proc/diskstats time writing, writes completed", "Mean time of the writes completed in the window; absent without writes"),
    metric::rate("sys.disk.discard.bytes", "By/s", 0, kDiskTags, "/proc/diskstats sectors discarded", "Bytes discarded; absent before Linux 4.18"),
    metric::rate("sys.disk.discard.ios", "/s", 2, kDiskTags, "/proc/diskstats discards completed", "Discards completed; absent before Linux 4.18"),
    metric::rate("sys.disk.flush.ios", "/s", 2, kDiskTags, "/proc/diskstats flushes completed", "Cache flushes completed; absent before Linux 5.5"),
    metric::rate("sys.disk.usage", "%", 2, kDiskTags, "/proc/diskstats time doing I/O", "Time with at least one I/O in progress"),
    metric::gauge("sys.disk.queue", "1", 3, kDiskTags, "/proc/diskstats weighted time doing I/O", "Mean number of I/Os queued or in progress"),

    metric::rate("sys.net.in.mb", "Mibit/s", 4, kInterfaceTags, "/proc/net/dev receive bytes", "Data received"),
    metric::rate("sys.net.in.packets", "/s", 2, kInterfaceTags, "/proc/net/dev receive packets", "Packets received"),
    metric::rate("sys.net.in.errors", "/s", 2, kInterfaceTags, "/proc/net/dev receive errs", "Packets received with errors"),
    metric::rate("sys.net.in.drops", "/s", 2, kInterfaceTags, "/proc/net/dev receive drop", "Received packets dropped"),
    metric::rate("sys.net.out.mb", "Mibit/s", 4, kInterfaceTags, "/proc/net/dev transmit bytes", "Data sent"),
    metric::rate("sys.net.out.packets", "/s", 2, kInterfaceTags, "/proc/net/dev transmit packets", "Packets sent"),
    metric::rate("sys.net.out.errors", "/s", 2, kInterfaceTags, "/proc/net/dev transmit errs", "Packets not sent because of errors"),
    metric::rate("sys.net.out.drops", "/s", 2, kInterfaceTags, "/proc/net/dev transmit drop", "Packets dropped before sending"),
    metric::rate("sys.net.usage", "%", 2, kInterfaceTags, "/proc/net/dev bytes, /sys/class/net/*/speed", "Traffic in both directions over the link capacity; absent where the link speed is unknown"),

    metric::gauge("sys.fs.size", "MiBy", 2, kMountTags, "statvfs f_blocks", "Size of the file system"),
    metric::gauge("sys.fs.used", "MiBy", 2, kMountTags, "statvfs f_blocks, f_bfree", "Space in use"),
    metric::gauge("sys.fs.free", "MiBy", 2, kMountTags, "statvfs f_bfree", "Free space, including the reserve of root"),
    metric::gauge("sys.fs.available", "MiBy", 2, kMountTags, "statvfs f_bavail", "Space available to unprivileged users"),
    metric::gauge("sys.fs.usage", "%", 2, kMountTags, "statvfs f_blocks, f_bfree, f_bavail", "Used over used plus available, as df prints it"),
    metric::gauge("sys.fs.inodes.total", "1", metric::count, kMountTags, "statvfs f_files", "Inodes of the file system; absent where they are allocated dynamically"),
    metric::gauge("sys.fs.inodes.free", "1", metric::count, kMountTags, "statvfs f_ffree", "Free inodes"),

    metric::gauge("sys.pressure.cpu.some", "%", 2, {}, "/proc/pressure/cpu some avg10", "Share of the last 10 s with at least one task waiting for a CPU"),
    metric::rate("sys.pressure.cpu.some.stall", "%", 2, {}, "/proc/pressure/cpu some total", "Share of the window with at least one task waiting for a CPU"),
    metric::gauge("sys.pressure.cpu.full", "%", 2, {}, "/proc/pressure/cpu full avg10", "Share of the last 10 s with all tasks waiting for a CPU"),
    metric::rate("sys.pressure.cpu.full.stall", "%", 2, {}, "/proc/pressure/cpu full total", "Share of the window with all tasks waiting for a CPU"),
    metric::gauge("sys.pressure.memory.some", "%", 2, {}, "/proc/pressure/memory some avg10", "Share of the last 10 s with at least one task waiting for memory"),
    metric::rate("sys.pressure.memory.some.stall", "%", 2, {}, "/proc/pressure/memory some total", "Share of the window with at least one task waiting for memory"),
    metric::gauge("sys.pressure.memory.full", "%", 2, {}, "/proc/pressure/memory full avg10", "Share of the last 10 s with all tasks waiting for memory"),
    metric::rate("sys.pressure.memory.full.stall", "%", 2, {}, "/proc/pressure/memory full total", "Share of the window with all tasks waiting for memory"),
    metric::gauge("sys.pressure.io.some", "%", 2, {}, "/proc/pressure/io some avg10", "Share of the last 10 s with at least one task waiting for I/O"),
    metric::rate("sys.pressure.io.some.stall", "%", 2, {}, "/proc/pressure/io some total", "Share of the window with at least one task waiting for I/O"),
    metric::gauge("sys.pressure.io.full", "%", 2, {}, "/proc/pressure/io full avg10", "Share of the last 10 s with all tasks waiting for I/O"),
    metric::rate("sys.pressure.io.full.stall", "%", 2, {}, "/proc/pressure/io full total", "Share of the window with all tasks waiting for I/O"),

    metric::gauge("sys.load.1m", "1", 2, {}, "/proc/loadavg", "Tasks running or in uninterruptible sleep, mean over 1 minute"),
    metric::gauge("sys.load.5m", "1", 2, {}, "/proc/loadavg", "Tasks running or in uninterruptible sleep, mean over 5 minutes"),
    metric::gauge("sys.load.15m", "1", 2, {}, "/proc/loadavg", "Tasks running or in uninterruptible sleep, mean over 15 minutes"),
    metric::gauge("sys.uptime", "s", 2, {}, "/proc/uptime", "Time since boot"),
    metric::gauge("sys.tasks.total", "1", metric::count, {}, "/proc/loadavg", "Threads, kernel threads included"),

    metric::gauge("sys.clock.synced", "1", metric::count, {}, "adjtimex STA_UNSYNC", "1: the clock is synchronized (NTP); 0: it is not, or the kernel is not informed"),
    metric::gauge("sys.clock.offset", "ms", 6, {}, "adjtimex offset", "Remaining correction of the clock; absent while the clock is not synchronized"),
    metric::gauge("sys.clock.error", "ms", 3, {}, "adjtimex maxerror", "Maximum error of the clock; absent while it is not synchronized"),

    metric::gauge("sys.tasks.running", "1", metric::count, {}, "/proc/stat procs_running", "Tasks running or ready to run"),
    metric::gauge("sys.tasks.blocked", "1", metric::count, {}, "/proc/stat procs_blocked", "Tasks waiting for disk I/O"),
    metric::rate("sys.tasks.created", "/s", 2, {}, "/proc/stat processes", "Processes and threads created"),
    metric::rate("sys.interrupts", "/s", 1, {}, "/proc/stat intr", "Hardware interrupts served"),
    metric::rate("sys.interrupts.soft", "/s", 1, {}, "/proc/stat softirq", "Software interrupts served"),
    metric::rate("sys.context.switches", "/s", 1, {}, "/proc/stat ctxt", "Context switches"),
};
// clang-format on

using HostValues = io::MetricValues<kHostMetrics>;

}  // namespace atalaya::proc
