// SPDX-License-Identifier: Apache-2.0
// Parses the files of /proc about the whole host. Pure. Unknown lines are skipped; values that a kernel lacks are absent. Views
// refer to the text. Sources: Documentation/filesystems/proc.rst, Documentation/admin-guide/iostats.rst.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/host/procfs/host_counters.h"

namespace atalaya::procfs {

struct CoreTimes {  // Times in clock ticks; user includes guest, nice includes guest_nice.
  Count user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice;
};
struct Core {
  std::string_view number;
  CoreTimes times;
};
struct Activity {
  Count interrupts, soft_interrupts, context_switches, created, running, blocked;
};
struct Stat {
  std::vector<Core> cores;
  Activity activity;
};
void parse_stat(std::string_view text, Stat &out);  // /proc/stat

struct Memory {  // Sizes in KiB.
  Count total, free, available, buffers, cached, active, inactive, dirty, writeback, slab, shared;
  Count swap_total, swap_free, swap_cached;
};
Memory parse_meminfo(std::string_view text);  // /proc/meminfo

struct Paging {
  Count kib_in, kib_out, swap_pages_in, swap_pages_out, faults, major_faults, oom_kills;
};
Paging parse_vmstat(std::string_view text);  // /proc/vmstat

struct DiskCounters {  // Times in ms.
  Count reads, reads_merged, sectors_read, read_ms;
  Count writes, writes_merged, sectors_written, write_ms;
  Count in_progress, busy_ms, queue_ms;
  Count discards, discards_merged, sectors_discarded, discard_ms, flushes;
};
// part: a partition, or one of the paths to a disk, whose I/O the disk has, too.
enum class DiskType { whole, part, loop, ram };
struct Disk {
  std::string_view name;
  DiskType type = DiskType::whole;
  DiskCounters counters;
};
void parse_diskstats(std::string_view text, std::vector<Disk> &out);  // /proc/diskstats

struct InterfaceCounters {
  Count bytes_in, packets_in, errors_in, drops_in, bytes_out, packets_out, errors_out, drops_out;
};
struct Interface {
  std::string_view name;
  InterfaceCounters counters;
};
void parse_net_dev(std::string_view text, std::vector<Interface> &out);  // /proc/net/dev

struct PressureTotals {  // Times in microseconds.
  Count some, full;
};
struct Pressure {
  std::optional<double> some_avg10, full_avg10;
  PressureTotals totals;
};
Pressure parse_pressure(std::string_view text);  // /proc/pressure/*, *.pressure of a cgroup

struct Load {
  std::optional<double> one, five, fifteen;
  Count tasks;
};
Load parse_loadavg(std::string_view text);                  // /proc/loadavg
std::optional<double> parse_uptime(std::string_view text);  // /proc/uptime

struct Mount {              // as in the file: a space in a path is \040
  std::string_view device;  // "8:1"
  std::string_view root, mount_point, type, source, super_options;
  std::string_view options;  // options of this mount
};
void parse_mountinfo(std::string_view text, std::vector<Mount> &out);  // /proc/PID/mountinfo
std::string unescape_mount(std::string_view text);                     // decodes octal escapes: \040 becomes a space

}  // namespace atalaya::procfs
