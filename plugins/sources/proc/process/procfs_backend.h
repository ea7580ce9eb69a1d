// SPDX-License-Identifier: Apache-2.0
// The backend "procfs": reads the files below a root folder.
#pragma once

#include <atalaya/plugin.hpp>

#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/files.h"
#include "plugins/sources/proc/exits/taskstats_listener.h"
#include "plugins/sources/proc/process/process_backend.h"
#include "plugins/sources/proc/process/process_reader.h"

namespace atalaya::proc {

class ProcfsBackend final : public ProcessBackend {
 public:
  // Throws Failure when the root has no procfs. `exits` subscribes to taskstats; it has an effect only if the root is "/", because
  // the running kernel reports the ends.
  ProcfsBackend(Host host, const std::string &root, bool exits);
  ~ProcfsBackend() override;

  std::optional<uint64_t> uptime() override;
  void read(ProcessModel &model) override;
  void follow_exits(const ProcessModel &model, OnExit take) override;
  std::unique_lock<std::mutex> lock_exits() override { return std::unique_lock(mutex_); }
  void report_exits() override;
  std::optional<uint64_t> lost_exits() const override;

 private:
  void listen();
  void drain_exits();
  bool is_reported(const procfs::ProcessReading &reading) const;
  void run();
  void log_errors();

  Host host_;
  ProcessReader reader_;
  std::optional<TaskstatsListener> listener_;
  bool denied_io_logged_ = false, denied_logged_ = false, malformed_logged_ = false;
  const ProcessModel *model_ = nullptr;
  OnExit on_exit_;
  std::mutex mutex_;
  core::Descriptor stop_;
  std::thread thread_;                     // drains the listener between passes
  std::vector<ExitReading> recent_exits_;  // the latest exits since the last pass, at most kRecentExits
};

}  // namespace atalaya::proc
