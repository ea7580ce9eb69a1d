// SPDX-License-Identifier: Apache-2.0
// Reports each process that starts, or starts a program, immediately, on a separate thread, so that its files are read while it
// exists.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <thread>

#include "core/base/files.h"
#include "core/base/result.h"
#include "plugins/shared/host/procfs/start_events.h"

namespace atalaya::names {

class StartWatch {
 public:
  // Called on the thread of the watch; must not throw.
  using Callback = std::function<void(std::span<const procfs::StartEvent> events)>;

  StartWatch() = default;
  StartWatch(const StartWatch &) = delete;
  StartWatch &operator=(const StartWatch &) = delete;
  ~StartWatch() { stop(); }

  // `forks`: report also processes that start no program. An error says why it does not run.
  core::Status start(bool forks, Callback take);
  void stop();

 private:
  void run();

  Callback take_;
  procfs::StartEvents events_;
  core::Descriptor stop_;  // an eventfd
  std::thread thread_;
};

}  // namespace atalaya::names
