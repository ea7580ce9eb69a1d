// SPDX-License-Identifier: Apache-2.0
// The texts of /proc/PID/ as numbers. Pure functions on untrusted bytes.
#pragma once

#include <cstdint>
#include <string_view>

#include "plugins/shared/procfs/host_busy.h"
#include "plugins/shared/procfs/process_reading.h"

namespace atalaya::proc {

// Sizes that stat gives cheaply and roughly. They tell whether the exact ones of status have changed.
struct MemoryMark {
  uint64_t virtual_bytes = 0, resident_pages = 0;
  bool operator==(const MemoryMark &) const = default;
};

// stat: name, start, CPU, faults, threads, state, parent. False, with reading and mark untouched, when the text is cut off or is
// not of this form.
bool parse_stat(std::string_view text, uint64_t ticks_per_second, ProcessReading &reading, MemoryMark &mark);
// io: what goes to disks, and all reads and writes.
void parse_io(std::string_view text, ProcessReading &reading);
// status: memory, user, context switches. What a text lacks becomes unknown: kernel threads and zombies have no memory.
void parse_status(std::string_view text, ProcessReading &reading);
// schedstat: time spent waiting for a CPU; of one thread, as are the context switches of status. Gives the time that the thread
// ran, in ns; 0 when the kernel does not say.
uint64_t parse_schedstat(std::string_view text, ProcessReading &reading);

// The first line of /proc/stat: what all cores were busy with, guests in user time. False when it is not that.
bool parse_busy(std::string_view text, uint64_t ticks_per_second, HostBusy &busy);

// /proc/uptime in ns since boot, and the boot time of /proc/stat in s since 1970. False when it is not there.
bool parse_uptime(std::string_view text, uint64_t &ns);
bool parse_boot_time(std::string_view text, int64_t &seconds);

}  // namespace atalaya::proc
