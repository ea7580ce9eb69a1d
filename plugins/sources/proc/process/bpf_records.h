// SPDX-License-Identifier: Apache-2.0
// Converts records of bpf/proc.bpf.c to readings. Pure functions; they check the sizes of records, although their own program
// wrote them.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "bpf/proc.h"
#include "plugins/shared/host/procfs/process_reading.h"
#include "plugins/sources/proc/exits/exit_reading.h"

namespace atalaya::proc {

procfs::ProcessReading reading_of(const proc_record &record);
ExitReading reading_of(const proc_exit &end);
// Returns the values at the exit, before the kernel frees the process; no counters if it had several threads.
ExitReading reading_of(const proc_key &key, const proc_leaving &end);

// Parses the complete records at the start of `bytes`: calls `full` for a full record, `idle` with the pid of an idle process.
// Returns the number of bytes parsed.
size_t parse_records(std::span<const std::byte> bytes, const std::function<void(const proc_record &)> &full,
                     const std::function<void(int32_t)> &idle);

}  // namespace atalaya::proc
