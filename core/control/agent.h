// SPDX-License-Identifier: Apache-2.0
// An engine that works until a signal, a time or its sources end it: what `run` and `try` share.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <string>

#include "core/cli/cli.h"
#include "core/config/description.h"
#include "core/pipeline/engine.h"

namespace atalaya::core::cli {

// What the process has to be before its first thread: signals that end or reload it are handled by `run_agent` alone, a vanished
// peer or a file size limit is an error of one write, and descriptors may be as many as the limits allow.
void prepare_process();

struct AgentOptions {
  int64_t for_ns = 0;                           // stop after this time; 0 = never
  std::function<std::future<Status>()> reload;  // SIGHUP; an empty future when there is nothing to wait for
  std::function<void(const Status &)> reloaded;
  std::function<void()> tick;      // once a second, for the live status line
  std::function<void()> stopping;  // the end begins
};

// Turns the engine on a thread of its own. Returns the exit status. On a hang it ends the process at once, since the hanging call
// still uses its memory.
int run_agent(Engine &engine, const AgentOptions &options);

Registry scan_plugins(const Arguments &arguments);

}  // namespace atalaya::core::cli
