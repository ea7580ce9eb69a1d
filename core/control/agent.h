// SPDX-License-Identifier: Apache-2.0
// Runs an engine until a signal, a time limit or the end of its sources; for `run` and `try`.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <string>

#include "core/config/description.h"
#include "core/control/exit_status.h"
#include "core/pipeline/engine.h"

namespace atalaya::core::cli {

// Prepares the process; call it before the first thread starts. Signals that end or reload the process are left to `run_agent`. A
// closed connection or a file size limit causes an error of the write, no signal. The limit of open descriptors is set to its
// maximum.
void prepare_process();

struct AgentOptions {
  int64_t for_ns = 0;                           // stop after this time; 0 = never
  std::function<std::future<Status>()> reload;  // called on SIGHUP; an empty future if the file was refused
  std::function<void(const Status &)> reloaded;
  std::function<void()> tick;  // once per tick_ns
  int64_t tick_ns = 1'000'000'000;
  std::function<void()> stopping;  // called before the engine stops
  bool prints_only = false;        // stop within tick_ns after the reader of standard output has closed it
};

// Whether the reader of standard output has closed it, as `head` does.
bool output_is_closed();
// If the reader of standard output has closed it, ends the process as SIGPIPE does, without a message. A library may block that
// signal.
void end_if_output_is_closed();

// Runs the engine on a separate thread and returns the exit status. If a call hangs, exits the process without destructors,
// because that call still uses the memory.
int run_agent(Engine &engine, const AgentOptions &options);

}  // namespace atalaya::core::cli
