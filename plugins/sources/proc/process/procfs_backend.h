// SPDX-License-Identifier: Apache-2.0
// The backend "procfs": the files below a root folder.
#pragma once

#include <atalaya/plugin.hpp>

#include <optional>
#include <string>

#include "plugins/sources/proc/exits/taskstats_listener.h"
#include "plugins/sources/proc/process/process_backend.h"
#include "plugins/sources/proc/process/process_reader.h"

namespace atalaya::proc {

class ProcfsBackend final : public ProcessBackend {
 public:
  // Throws Failure when there is no procfs. The running kernel reports ends of processes (taskstats), only for its root.
  ProcfsBackend(Host host, const std::string &root, bool exits);

  std::optional<uint64_t> uptime() override;
  void read(ProcessModel &model) override;
  void take_exits(const ProcessModel &model, const TakeExit &take) override;
  std::optional<uint64_t> lost_exits() const override;

 private:
  void listen();
  void log_errors();

  Host host_;
  ProcessReader reader_;
  std::optional<TaskstatsListener> listener_;
  bool denied_io_logged_ = false, denied_logged_ = false, malformed_logged_ = false;
};

}  // namespace atalaya::proc
