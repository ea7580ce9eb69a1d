// SPDX-License-Identifier: Apache-2.0
// The interface of a process reader: the kernel's iterator (BPF) or the files of procfs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "plugins/sources/proc/exits/exit_reading.h"
#include "plugins/sources/proc/process/process_model.h"
#include "plugins/sources/proc/turns.h"

namespace atalaya::proc {

class ProcessBackend {
 public:
  virtual ~ProcessBackend() = default;

  // Time since boot on the clock of process start times; nothing when it is unknown.
  virtual std::optional<uint64_t> uptime() = 0;
  // Calls ProcessModel::update or mark_idle once per process, between the model's begin and end.
  virtual void read(ProcessModel &model) = 0;

  using OnExit = std::function<void(const ExitReading &)>;
  // Subscribes to process ends; call it before the first pass. The backend calls `take` once per ended process, with the start time
  // as in the model: in report_exits and, because a window may have more ends than the kernel's buffer, between passes on its own
  // thread. `take` must not throw.
  virtual void follow_exits(const ProcessModel &model, OnExit take) = 0;
  // Returns the lock of the model and of the data that `take` changes; the backend's thread holds it while it calls `take`.
  virtual std::unique_lock<std::mutex> lock_exits() { return {}; }
  // Reports the processes that ended until now to `take`. The caller holds the lock.
  virtual void report_exits() = 0;
  // Number of process ends lost since the start because a buffer was full; nothing if the backend reports no ends.
  virtual std::optional<uint64_t> lost_exits() const = 0;
  // Whether the kernel reports all processes in one call.
  virtual bool at_once() const { return false; }
  // The features that are missing on this host and why; empty when all are available.
  virtual std::string_view limitation() const { return {}; }
};

struct BpfOptions {
  bool exits = true;                        // false: no hooks are attached and no process ends are reported
  uint32_t pass_bytes = uint32_t{2} << 20;  // maximum bytes of a pass in one call; larger passes use the iterator (0: always)
  int64_t turn_ns = kMinTurn_ns;            // period in which a 16th of the idle processes is read in full
};

// Opens the BPF backend, or returns the reason why it is unavailable.
core::Result<std::unique_ptr<ProcessBackend>> open_bpf_backend(BpfOptions options = {});

}  // namespace atalaya::proc
