// SPDX-License-Identifier: Apache-2.0
// The owner of a wait: who or what a thread waited for. Pure.
#pragma once

#include <string>
#include <string_view>

#include "plugins/sources/perf/sampling/sampler.h"

namespace atalaya::perf {

struct Ended {
  bool queued = false;      // the thread waited for a CPU
  bool has_ended = true;    // within the burst
  std::string_view reason;  // of the wait: reason_of
  std::string_view by;      // folded kernel stack of the waker, without names if the kernel hides them
};

// "a CPU", "a timer", "disk vda", "10.0.0.2:9000", "clients of port 9000", "10.0.0.3 as client of port 9000", "network",
// "an interrupt", "kernel thread kworker/0:1", "holder of app-812", "app-812", "unknown".
std::string owner_of(const Ended &ended, const Waker &waker);

// Whether a thread ended the wait: its own code, not an interrupt of it.
bool is_by_thread(const Ended &ended, const Waker &waker);

}  // namespace atalaya::perf
