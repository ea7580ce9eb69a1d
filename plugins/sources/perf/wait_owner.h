// SPDX-License-Identifier: Apache-2.0
// Names the owner of a wait: the resource or thread that the waiting thread waited for. Pure.
#pragma once

#include <string>
#include <string_view>

#include "plugins/sources/perf/sampling/sampler.h"

namespace atalaya::perf {

struct Ended {
  bool queued = false;      // the thread waited for a CPU
  bool has_ended = true;    // within the burst
  std::string_view reason;  // reason_of the waiting stack
  std::string_view by;      // folded kernel stack of the waker; no names if the kernel hides its symbols
};

// "a CPU", "a timer", "disk vda", "10.0.0.2:9000", "clients of port 9000", "10.0.0.3 as client of port 9000", "network",
// "an interrupt", "kernel thread kworker/0:1", "holder of app-812", "app-812", "unknown".
std::string owner_of(const Ended &ended, const Waker &waker);

// Returns true if the code of a thread ended the wait, not an interrupt.
bool is_by_thread(const Ended &ended, const Waker &waker);

}  // namespace atalaya::perf
