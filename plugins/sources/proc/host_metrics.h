// SPDX-License-Identifier: Apache-2.0
// What the host samples carry. One sample a core, disk, interface and file system; one each for memory, swap, pressure, load, clock
// and activity.
#pragma once

#include <atalaya/plugin.hpp>

#include <array>

#include "plugins/sources/proc/host_metric_values.h"

namespace atalaya::proc {

using namespace atalaya::literals;

inline constexpr std::array kCoreTags = {identity_tag("core")};
inline constexpr std::array kDiskTags = {identity_tag("disk")};
inline constexpr std::array kInterfaceTags = {identity_tag("interface")};
inline constexpr std::array kMountTags = {identity_tag("disk"), identity_tag("mount")};

// clang-format off
inline constexpr std::array kHostMetrics = {
    rate("sys.cpu.user", "%", 2, kCoreTags, "/proc/stat cpuN user, nice", "Time in user mode, niced and guest time included, of one core."),
    rate("sys.cpu.kernel", "%", 2, kCoreTags, "/proc/stat cpuN system", "Time in kernel mode without interrupts."),
    rate("sys.cpu.idle", "%", 2, kCoreTags, "/proc/stat cpuN idle", "Time with nothing to do and no disk I/O awaited."),
    rate("sys.cpu.wait", "%", 2, kCoreTags, "/proc/stat cpuN iowait", "Time idle while disk I/O was awaited; absent when the kernel took some of it back."),
    rate("sys.cpu.usage", "%", 2, kCoreTags, "/proc/stat cpuN user, nice, system, irq, softirq", "Time busy. With usage = \"reference\": user, nice, system and iowait."),
    rate("sys.cpu.nice", "%", 2, kCoreTags, "/proc/stat cpuN nice", "Time of niced processes in user mode, a part of sys.cpu.user."),
    rate("sys.cpu.irq", "%", 2, kCoreTags, "/proc/stat cpuN irq", "Time in hardware interrupts."),
    rate("sys.cpu.softirq", "%", 2, kCoreTags, "/proc/stat cpuN softirq", "Time in software interrupts."),
    rate("sys.cpu.steal", "%", 2, kCoreTags, "/proc/stat cpuN steal", "Time that the hypervisor gave to others."),
    rate("sys.cpu.guest", "%", 2, kCoreTags, "/proc/stat cpuN guest, guest_nice", "Time in virtual machines of this host, a part of sys.cpu.user."),

    gauge("sys.mem.total", "MiBy", 2, {}, "/proc/meminfo MemTotal", "Memory that the kernel manages."),
    gauge("sys.mem.free", "MiBy", 2, {}, "/proc/meminfo MemFree", "Memory in no use at all."),
    gauge("sys.mem.available", "MiBy", 2, {}, "/proc/meminfo MemAvailable", "Memory that new processes can get without swapping; absent before kernel 3.14."),
    gauge("sys.mem.usage", "%", 2, {}, "/proc/meminfo MemAvailable, MemTotal", "Memory not available. With usage = \"reference\": not free, so that the page cache counts as used."),
    gauge("sys.mem.buffers", "MiBy", 2, {}, "/proc/meminfo Buffers", "Page cache of block devices."),
    gauge("sys.mem.cached", "MiBy", 2, {}, "/proc/meminfo Cached", "Page cache of files, shared memory included."),
    gauge("sys.mem.active", "MiBy", 2, {}, "/proc/meminfo Active", "Memory used recently."),
    gauge("sys.mem.inactive", "MiBy", 2, {}, "/proc/meminfo Inactive", "Memory not used recently, first to be reclaimed."),
    gauge("sys.mem.dirty", "MiBy", 2, {}, "/proc/meminfo Dirty", "Page cache that awaits being written to disk."),
    gauge("sys.mem.writeback", "MiBy", 2, {}, "/proc/meminfo Writeback", "Page cache that is being written to disk."),
    gauge("sys.mem.slab", "MiBy", 2, {}, "/proc/meminfo Slab", "Memory of the kernel's own structures."),
    gauge("sys.mem.shared", "MiBy", 2, {}, "/proc/meminfo Shmem", "Shared memory and tmpfs."),
    rate("sys.mem.pgin.bytes", "By/s", 0, {}, "/proc/vmstat pgpgin", "Bytes read from block devices."),
    rate("sys.mem.pgout.bytes", "By/s", 0, {}, "/proc/vmstat pgpgout", "Bytes written to block devices."),
    rate("sys.mem.faults.minor", "1/s", 1, {}, "/proc/vmstat pgfault, pgmajfault", "Page faults served from memory."),
    rate("sys.mem.faults.major", "1/s", 1, {}, "/proc/vmstat pgmajfault", "Page faults that read from disk."),
    delta("sys.mem.oom.kills", "1", -1, {}, "/proc/vmstat oom_kill", "Processes killed in the window because memory was out."),

    gauge("sys.swap.total", "MiBy", 2, {}, "/proc/meminfo SwapTotal", "Swap space."),
    gauge("sys.swap.free", "MiBy", 2, {}, "/proc/meminfo SwapFree", "Swap space in no use."),
    gauge("sys.swap.cached", "MiBy", 2, {}, "/proc/meminfo SwapCached", "Memory that is also in swap."),
    rate("sys.swap.in.bytes", "By/s", 0, {}, "/proc/vmstat pswpin", "Bytes brought in from swap."),
    rate("sys.swap.out.bytes", "By/s", 0, {}, "/proc/vmstat pswpout", "Bytes moved out to swap."),

    rate("sys.disk.read.mb", "MiBy/s", 3, kDiskTags, "/proc/diskstats sectors read", "Data read."),
    rate("sys.disk.read.ios", "1/s", 2, kDiskTags, "/proc/diskstats reads completed", "Reads completed."),
    rate("sys.disk.read.merges", "1/s", 2, kDiskTags, "/proc/diskstats reads merged", "Reads merged with a neighbour before they were issued."),
    rate("sys.disk.read.time", "ms/s", 2, kDiskTags, "/proc/diskstats time reading", "Time spent by all reads together."),
    gauge("sys.disk.read.await", "ms", 3, kDiskTags, "/proc/diskstats time reading, reads completed", "Mean time of a read completed in the window; absent without one."),
    rate("sys.disk.write.mb", "MiBy/s", 3, kDiskTags, "/proc/diskstats sectors written", "Data written."),
    rate("sys.disk.write.ios", "1/s", 2, kDiskTags, "/proc/diskstats writes completed", "Writes completed."),
    rate("sys.disk.write.merges", "1/s", 2, kDiskTags, "/proc/diskstats writes merged", "Writes merged with a neighbour before they were issued."),
    rate("sys.disk.write.time", "ms/s", 2, kDiskTags, "/proc/diskstats time writing", "Time spent by all writes together."),
    gauge("sys.disk.write.await", "ms", 3, kDiskTags, "/proc/diskstats time writing, writes completed", "Mean time of a write completed in the window; absent without one."),
    rate("sys.disk.discard.bytes", "By/s", 0, kDiskTags, "/proc/diskstats sectors discarded", "Space discarded; absent before kernel 4.18."),
    rate("sys.disk.discard.ios", "1/s", 2, kDiskTags, "/proc/diskstats discards completed", "Discards completed; absent before kernel 4.18."),
    rate("sys.disk.flush.ios", "1/s", 2, kDiskTags, "/proc/diskstats flushes completed", "Cache flushes completed; absent before kernel 5.5."),
    rate("sys.disk.usage", "%", 2, kDiskTags, "/proc/diskstats time doing I/O", "Time with at least one I/O in progress."),
    gauge("sys.disk.queue", "1", 3, kDiskTags, "/proc/diskstats weighted time doing I/O", "Mean number of I/Os queued or in progress."),

    rate("sys.net.in.mb", "Mibit/s", 4, kInterfaceTags, "/proc/net/dev receive bytes", "Data received."),
    rate("sys.net.in.packets", "1/s", 2, kInterfaceTags, "/proc/net/dev receive packets", "Packets received."),
    rate("sys.net.in.errors", "1/s", 2, kInterfaceTags, "/proc/net/dev receive errs", "Packets received broken."),
    rate("sys.net.in.drops", "1/s", 2, kInterfaceTags, "/proc/net/dev receive drop", "Packets received and dropped."),
    rate("sys.net.out.mb", "Mibit/s", 4, kInterfaceTags, "/proc/net/dev transmit bytes", "Data sent."),
    rate("sys.net.out.packets", "1/s", 2, kInterfaceTags, "/proc/net/dev transmit packets", "Packets sent."),
    rate("sys.net.out.errors", "1/s", 2, kInterfaceTags, "/proc/net/dev transmit errs", "Packets that could not be sent."),
    rate("sys.net.out.drops", "1/s", 2, kInterfaceTags, "/proc/net/dev transmit drop", "Packets dropped before they were sent."),
    rate("sys.net.usage", "%", 2, kInterfaceTags, "/proc/net/dev bytes, /sys/class/net/*/speed", "Data both ways over what the link can carry; absent where its speed is unknown."),

    gauge("sys.fs.size", "MiBy", 2, kMountTags, "statvfs f_blocks", "Size of the file system."),
    gauge("sys.fs.used", "MiBy", 2, kMountTags, "statvfs f_blocks, f_bfree", "Space in use."),
    gauge("sys.fs.free", "MiBy", 2, kMountTags, "statvfs f_bfree", "Space not in use, what is kept for root included."),
    gauge("sys.fs.available", "MiBy", 2, kMountTags, "statvfs f_bavail", "Space that users can still fill."),
    gauge("sys.fs.usage", "%", 2, kMountTags, "statvfs f_blocks, f_bfree, f_bavail", "Used over used and available, as df has it."),
    gauge("sys.fs.inodes.total", "1", -1, kMountTags, "statvfs f_files", "Inodes of the file system; absent where it makes them as needed."),
    gauge("sys.fs.inodes.free", "1", -1, kMountTags, "statvfs f_ffree", "Inodes not in use."),

    gauge("sys.pressure.cpu.some", "%", 2, {}, "/proc/pressure/cpu some avg10", "Time, mean of 10 s, in which a task waited for a CPU."),
    rate("sys.pressure.cpu.some.stall", "%", 2, {}, "/proc/pressure/cpu some total", "The same over the window."),
    gauge("sys.pressure.cpu.full", "%", 2, {}, "/proc/pressure/cpu full avg10", "Time, mean of 10 s, in which all tasks waited for a CPU."),
    rate("sys.pressure.cpu.full.stall", "%", 2, {}, "/proc/pressure/cpu full total", "The same over the window."),
    gauge("sys.pressure.memory.some", "%", 2, {}, "/proc/pressure/memory some avg10", "Time, mean of 10 s, in which a task waited for memory."),
    rate("sys.pressure.memory.some.stall", "%", 2, {}, "/proc/pressure/memory some total", "The same over the window."),
    gauge("sys.pressure.memory.full", "%", 2, {}, "/proc/pressure/memory full avg10", "Time, mean of 10 s, in which all tasks waited for memory."),
    rate("sys.pressure.memory.full.stall", "%", 2, {}, "/proc/pressure/memory full total", "The same over the window."),
    gauge("sys.pressure.io.some", "%", 2, {}, "/proc/pressure/io some avg10", "Time, mean of 10 s, in which a task waited for I/O."),
    rate("sys.pressure.io.some.stall", "%", 2, {}, "/proc/pressure/io some total", "The same over the window."),
    gauge("sys.pressure.io.full", "%", 2, {}, "/proc/pressure/io full avg10", "Time, mean of 10 s, in which all tasks waited for I/O."),
    rate("sys.pressure.io.full.stall", "%", 2, {}, "/proc/pressure/io full total", "The same over the window."),

    gauge("sys.load.1m", "1", 2, {}, "/proc/loadavg", "Tasks running or in uninterruptible sleep, mean of 1 minute."),
    gauge("sys.load.5m", "1", 2, {}, "/proc/loadavg", "The same of 5 minutes."),
    gauge("sys.load.15m", "1", 2, {}, "/proc/loadavg", "The same of 15 minutes."),
    gauge("sys.uptime", "s", 2, {}, "/proc/uptime", "Time since the host was started."),
    gauge("sys.tasks.total", "1", -1, {}, "/proc/loadavg", "Threads of all processes and of the kernel."),

    gauge("sys.clock.synced", "1", -1, {}, "adjtimex STA_UNSYNC", "1: something keeps the clock right, such as NTP; 0: nothing does, or it does not tell the kernel."),
    gauge("sys.clock.offset", "ms", 6, {}, "adjtimex offset", "What the kernel still corrects of the clock, as NTP told it; absent while the clock is not synced."),
    gauge("sys.clock.error", "ms", 3, {}, "adjtimex maxerror", "How far the clock may be off at most; absent while it is not synced."),

    gauge("sys.tasks.running", "1", -1, {}, "/proc/stat procs_running", "Tasks running or ready to run."),
    gauge("sys.tasks.blocked", "1", -1, {}, "/proc/stat procs_blocked", "Tasks waiting for disk I/O."),
    rate("sys.tasks.created", "1/s", 2, {}, "/proc/stat processes", "Processes and threads created."),
    rate("sys.interrupts", "1/s", 1, {}, "/proc/stat intr", "Hardware interrupts served."),
    rate("sys.interrupts.soft", "1/s", 1, {}, "/proc/stat softirq", "Software interrupts served."),
    rate("sys.context.switches", "1/s", 1, {}, "/proc/stat ctxt", "Context switches."),
};
// clang-format on

using HostValues = MetricValues<kHostMetrics>;

}  // namespace atalaya::proc
