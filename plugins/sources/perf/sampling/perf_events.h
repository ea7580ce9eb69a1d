// SPDX-License-Identifier: Apache-2.0
// Opens one perf event on each CPU.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"

namespace atalaya::perf {

struct CpuEvent {
  int cpu = 0;
  core::Descriptor file;
};

struct CpuEvents {
  std::vector<CpuEvent> events;
  std::string name;  // "cycles" or "cpu-clock"
  perf_event_attr attributes{};
};

// Opens the events, disabled. `event`: "cycles", "cpu-clock", or "auto" for the first that works. `attributes` contains the other
// settings.
core::Result<CpuEvents> open_events(const std::string &event, int frequency, perf_event_attr attributes);

// Opens the event on one more CPU. Returns an invalid descriptor on failure; the caller retries in the next window.
core::Descriptor open_on(const CpuEvents &events, int cpu);

// The kernel's maximum frames per stack (kernel.perf_event_max_stack).
size_t max_frames();

}  // namespace atalaya::perf
