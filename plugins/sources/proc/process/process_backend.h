// SPDX-License-Identifier: Apache-2.0
// How processes are read: the part that differs between the kernel's own iterator (BPF) and the files of procfs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "plugins/sources/proc/exits/exit_reading.h"
#include "plugins/sources/proc/process/process_model.h"

namespace atalaya::proc {

class ProcessBackend {
 public:
  virtual ~ProcessBackend() = default;

  // Uptime in the clock of the start times; nothing when it is unknown.
  virtual std::optional<uint64_t> uptime() = 0;
  // Shows the model every process once, between its begin and end.
  virtual void read(ProcessModel &model) = 0;

  using TakeExit = std::function<void(const ExitReading &)>;
  // Processes that have ended since the last call, each once; the model knows them as they were, their start times are its own.
  virtual void take_exits(const ProcessModel &model, const TakeExit &take) = 0;
  // Since the start: ends that there was no room to tell; nothing when none are told at all.
  virtual std::optional<uint64_t> lost_exits() const = 0;
  // What it has to do without here, and why; empty: nothing.
  virtual std::string_view lacks() const { return {}; }
};

// The iterator; or a sentence that says why it does not work here. Without `exits` nothing is hooked, and no ends are told.
core::Result<std::unique_ptr<ProcessBackend>> open_bpf_backend(bool exits = true);

}  // namespace atalaya::proc
