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

  // Uptime in the clock of the start times; nothing when it is unknown.
  virtual std::optional<uint64_t> uptime() = 0;
  // Passes every process to the model once, between its begin and end.
  virtual void read(ProcessModel &model) = 0;

  using OnExit = std::function<void(const ExitReading &)>;
  // Before the first pass. `take` receives the end of each process once, with the start time of the model: in report_exits, and
  // between passes from a thread of the backend, because a window may have more ends than its buffer holds. It must not throw.
  virtual void follow_exits(const ProcessModel &model, OnExit take) = 0;
  // The thread waits while this lock is held. It guards the model and the data that `take` fills.
  virtual std::unique_lock<std::mutex> lock_exits() { return {}; }
  // Passes on the processes that ended so far. The lock must be held.
  virtual void report_exits() = 0;
  // Ends lost since the start because a buffer was full; nothing when ends are not reported at all.
  virtual std::optional<uint64_t> lost_exits() const = 0;
  // Whether the kernel reports all processes in one call.
  virtual bool at_once() const { return false; }
  // Missing features on this host and the reason; empty: none.
  virtual std::string_view limitation() const { return {}; }
};

struct BpfOptions {
  bool exits = true;                        // otherwise no hooks are attached, and no ends are reported
  uint32_t pass_bytes = uint32_t{2} << 20;  // at most; of a pass in one call. Larger ones take the iterator, 0: all.
  int64_t turn_ns = kMinTurn_ns;            // in each, a 16th of the idle processes is read in full
};

// BPF, or the reason why it does not work here.
core::Result<std::unique_ptr<ProcessBackend>> open_bpf_backend(BpfOptions options = {});

}  // namespace atalaya::proc
