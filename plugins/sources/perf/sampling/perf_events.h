// SPDX-License-Identifier: Apache-2.0
// One perf event on each CPU.
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

// `event`: "cycles", "cpu-clock", or "auto" for the first that works. `attributes` holds the other settings. The events are
// disabled until enabled.
core::Result<CpuEvents> open_events(const std::string &event, int frequency, perf_event_attr attributes);

// The same on one more CPU; invalid on failure. The caller retries in the next window.
core::Descriptor open_on(const CpuEvents &events, int cpu);

// The kernel's maximum frames per stack (kernel.perf_event_max_stack).
size_t max_frames();

}  // namespace atalaya::perf
