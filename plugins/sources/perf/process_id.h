// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstdint>

#include "plugins/shared/code/symbols/process/process_memory.h"
#include "plugins/sources/perf/sampling/sampler.h"

namespace atalaya::perf {

// Converts a process id to the form of procfs, which has start times in ticks.
inline symbols::ProcessMark mark_of(const ProcessId &id) {
  static const auto ticks = static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
  return {id.start_ns / (1'000'000'000 / ticks), id.image};
}

}  // namespace atalaya::perf
