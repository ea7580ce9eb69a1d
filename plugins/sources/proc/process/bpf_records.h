// SPDX-License-Identifier: Apache-2.0
// What bpf/proc.bpf.c says, as readings. Pure; the records come from our own program, but their frame is checked all the same.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "bpf/proc.h"
#include "plugins/sources/proc/exits/exit_reading.h"
#include "plugins/shared/procfs/process_reading.h"

namespace atalaya::proc {

ProcessReading reading_of(const proc_record &record);
ExitReading reading_of(const proc_exit &end);
ExitReading reading_of(const proc_key &key, const proc_leaving &end);  // no counters are known

// Takes whole records from the front of the bytes; gives how many bytes those were.
size_t take_records(std::span<const std::byte> bytes, const std::function<void(const proc_record &)> &full,
                    const std::function<void(int32_t)> &idle);

}  // namespace atalaya::proc
