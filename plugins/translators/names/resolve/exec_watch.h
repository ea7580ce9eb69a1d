// SPDX-License-Identifier: Apache-2.0
// Reports each process that starts a program immediately, on a separate thread, so that its files are read while it exists.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <thread>

#include "core/base/files.h"
#include "core/base/result.h"
#include "plugins/shared/host/procfs/exec_events.h"

namespace atalaya::names {

class ExecWatch {
 public:
  // Called on the thread of the watch; must not throw.
  using Callback = std::function<void(std::span<const int32_t> processes)>;

  ExecWatch() = default;
  ExecWatch(const ExecWatch &) = delete;
  ExecWatch &operator=(const ExecWatch &) = delete;
  ~ExecWatch() { stop(); }

  // An error says why it does not run.
  core::Status start(Callback take);
  void stop();

 private:
  void run();

  Callback take_;
  procfs::ExecEvents events_;
  core::Descriptor stop_;  // an eventfd
  std::thread thread_;
};

}  // namespace atalaya::names
