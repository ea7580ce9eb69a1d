// SPDX-License-Identifier: Apache-2.0
// One perf event on each CPU.
#pragma once

#include <linux/perf_event.h>

#include <string>
#include <vector>

#include "core/util/files.h"
#include "core/util/result.h"

namespace atalaya::perf {

struct CpuEvent {
  int cpu = 0;
  core::Descriptor file;
};

struct CpuEvents {
  std::vector<CpuEvent> events;
  std::string name;  // "cycles" or "cpu-clock"
};

// `event`: "cycles", "cpu-clock", or "auto" for the first that works. What else is asked for stands in `attributes`. The events do
// not count yet.
core::Result<CpuEvents> open_events(const std::string &event, int frequency, perf_event_attr attributes);

// "0-2,5" -> 0 1 2 5, as /sys/devices/system/cpu/online has it.
std::vector<int> parse_cpus(std::string_view text);

}  // namespace atalaya::perf
