// SPDX-License-Identifier: Apache-2.0
// From records of bpf/proc.bpf.c to readings. Pure; the frame of the records is checked, although they come from our program.
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
ExitReading reading_of(const proc_key &key, const proc_leaving &end);  // as of the exit; with threads no counters are known

// Takes whole records from the front of the bytes; returns their size in bytes.
size_t parse_records(std::span<const std::byte> bytes, const std::function<void(const proc_record &)> &full,
                     const std::function<void(int32_t)> &idle);

}  // namespace atalaya::proc
