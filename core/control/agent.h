// SPDX-License-Identifier: Apache-2.0
// An engine that runs until a signal, a time limit or the end of its sources; shared by `run` and `try`.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <string>

#include "core/config/description.h"
#include "core/control/exit_status.h"
#include "core/pipeline/engine.h"

namespace atalaya::core::cli {

// Prepares the process; call it before the first thread. Only `run_agent` handles the signals that end or reload the process, a
// closed connection or a file size limit is an error of one write, and the limit of descriptors is raised to its maximum.
void prepare_process();

struct AgentOptions {
  int64_t for_ns = 0;                           // stop after this time; 0 = never
  std::function<std::future<Status>()> reload;  // on SIGHUP; an empty future if the file was refused
  std::function<void(const Status &)> reloaded;
  std::function<void()> tick;  // once per tick_ns
  int64_t tick_ns = 1'000'000'000;
  std::function<void()> stopping;  // called before the engine stops
  bool prints_only = false;        // stop when nobody reads standard output any more, within tick_ns
};

// The reader of standard output has ended, as `head` does.
bool output_is_closed();
// Ends the process as SIGPIPE does, without a message, if that is so. A library may have blocked the signal.
void end_if_output_is_closed();

// Runs the engine on a separate thread. Returns the exit status. Ends the process at once if a call hangs, since that call still
// uses its memory.
int run_agent(Engine &engine, const AgentOptions &options);

}  // namespace atalaya::core::cli
