// SPDX-License-Identifier: Apache-2.0
// Parses the files of /proc/PID/. Pure functions on untrusted bytes.
#pragma once

#include <cstdint>
#include <string_view>

#include "plugins/shared/host/procfs/host_busy.h"
#include "plugins/shared/host/procfs/process_reading.h"

namespace atalaya::procfs {

// Marks from stat that show what else has changed: approximate sizes, for the exact ones in status; and page faults and CPU time of
// reaped children, whose I/O the kernel adds to that of the process in io. 0 reaped: it has reaped no child.
struct StatMark {
  uint64_t virtual_bytes = 0, resident_pages = 0, reaped = 0;
  bool operator==(const StatMark &) const = default;
};

// stat: name, start, CPU, faults, threads, state, parent. False, with reading and mark untouched, when the text is cut off or
// malformed.
bool parse_stat(std::string_view text, uint64_t ticks_per_second, ProcessReading &reading, StatMark &mark);
// io: disk I/O, and all reads and writes.
void parse_io(std::string_view text, ProcessReading &reading);
// status: memory, user, context switches. Missing values become unknown: kernel threads and zombies have no memory.
void parse_status(std::string_view text, ProcessReading &reading);
// schedstat: time spent waiting for a CPU; of one thread, as are the context switches of status. Returns the time that the
// thread ran, in ns; 0 if unknown.
uint64_t parse_schedstat(std::string_view text, ProcessReading &reading);

// The first line of /proc/stat: busy time of all cores, guests in user time. False for another line.
bool parse_busy(std::string_view text, uint64_t ticks_per_second, HostBusy &busy);

// /proc/uptime in ns since boot, and the boot time of /proc/stat in s since 1970. False when it is missing.
bool parse_uptime(std::string_view text, uint64_t &ns);
bool parse_boot_time(std::string_view text, int64_t &seconds);

}  // namespace atalaya::procfs
