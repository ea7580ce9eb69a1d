// SPDX-License-Identifier: Apache-2.0
// Parses the files of /proc/PID/. Pure; the bytes are untrusted input.
#pragma once

#include <cstdint>
#include <string_view>

#include "plugins/shared/host/procfs/host_busy.h"
#include "plugins/shared/host/procfs/process_reading.h"

namespace atalaya::procfs {

// Values of stat that show whether other files have changed.
struct StatMark {
  uint64_t virtual_bytes = 0, resident_pages = 0;  // approximate; if they change, the exact sizes in status have changed
  uint64_t reaped = 0;  // page faults and CPU time of reaped children, whose I/O the kernel adds in io; 0: no child was reaped
  bool operator==(const StatMark &) const = default;
};

// stat: name, start, CPU, faults, threads, state, parent. If the text is truncated or malformed, returns false and leaves
// `reading` and `mark` unchanged.
bool parse_stat(std::string_view text, uint64_t ticks_per_second, ProcessReading &reading, StatMark &mark);
// io: disk I/O, and all reads and writes.
void parse_io(std::string_view text, ProcessReading &reading);
// status: memory, user, context switches. Missing values are set to unknown: kernel threads and zombies have no memory.
void parse_status(std::string_view text, ProcessReading &reading);
// schedstat: time spent waiting for a CPU. It covers one thread, as the context switches of status do. Returns the CPU time of the
// thread in ns; 0 if it is unknown.
uint64_t parse_schedstat(std::string_view text, ProcessReading &reading);

// The first line of /proc/stat: busy time of all cores, guests in user time. False for another line.
bool parse_busy(std::string_view text, uint64_t ticks_per_second, HostBusy &busy);

// /proc/uptime in ns since boot; the boot time in /proc/stat in s since 1970. False if the value is missing.
bool parse_uptime(std::string_view text, uint64_t &ns);
bool parse_boot_time(std::string_view text, int64_t &seconds);

}  // namespace atalaya::procfs
