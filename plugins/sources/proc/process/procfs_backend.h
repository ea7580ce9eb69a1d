// SPDX-License-Identifier: Apache-2.0
// The backend "procfs": the files below a root folder.
#pragma once

#include <atalaya/plugin.hpp>

#include <optional>
#include <string>

#include "plugins/sources/proc/process/process_backend.h"
#include "plugins/sources/proc/process/process_reader.h"
#include "plugins/sources/proc/exits/taskstats_listener.h"

namespace atalaya::proc {

class ProcfsBackend final : public ProcessBackend {
 public:
  // Throws Failure when there is no procfs. Ends of processes are told by the running kernel (taskstats): only for its own root.
  ProcfsBackend(Host host, const std::string &root, bool exits);

  std::optional<uint64_t> uptime() override;
  void read(ProcessModel &model) override;
  void take_exits(const ProcessModel &model, const TakeExit &take) override;
  std::optional<uint64_t> lost_exits() const override {
    return listener_ ? std::optional(listener_->trouble().lost) : std::nullopt;
  }

 private:
  void listen();
  void report_trouble();

  Host host_;
  ProcessReader reader_;
  std::optional<TaskstatsListener> listener_;
  bool told_denied_io_ = false, told_denied_ = false, told_malformed_ = false;
};

}  // namespace atalaya::proc
