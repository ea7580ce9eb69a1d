// SPDX-License-Identifier: Apache-2.0
// Determines the owner of a wait: the resource or thread that the waiting thread waited for. Pure.
#pragma once

#include <string>
#include <string_view>

#include "plugins/sources/perf/sampling/sampler.h"

namespace atalaya::perf {

// The end of a wait.
struct WaitEnd {
  bool queued = false;           // the thread waited for a CPU
  bool has_ended = true;         // false: the burst ended first
  std::string_view reason;       // reason_of the waiting stack
  std::string_view waker_stack;  // folded kernel stack of the waker; without names if the kernel hides its symbols
};

// Returns the owner: "a CPU", "a timer", "disk vda", "10.0.0.2:9000", "clients of port 9000", "10.0.0.3 as client of port 9000",
// "network", "an interrupt", "kernel thread kworker/0:1", "holder of app-812", "app-812", "unknown".
std::string owner_of(const WaitEnd &ended, const Waker &waker);

// Returns true if a thread's code ended the wait, false for an interrupt.
bool is_ended_by_thread(const WaitEnd &ended, const Waker &waker);

}  // namespace atalaya::perf
