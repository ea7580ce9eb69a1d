// SPDX-License-Identifier: Apache-2.0
// The backend "procfs": the files below a root folder.
#pragma once

#include <atalaya/plugin.hpp>

#include <string>

#include "plugins/sources/proc/process_backend.h"
#include "plugins/sources/proc/process_reader.h"

namespace atalaya::proc {

class ProcfsBackend final : public ProcessBackend {
 public:
  // Throws Failure when there is no procfs.
  ProcfsBackend(Host host, std::string root);

  std::optional<uint64_t> uptime() override;
  void read(ProcessModel &model) override;
  void take_exits(const TakeExit &) override {}
  uint64_t lost_exits() const override { return 0; }

 private:
  void report_trouble();

  Host host_;
  ProcessReader reader_;
  bool told_denied_io_ = false, told_denied_ = false, told_malformed_ = false;
};

}  // namespace atalaya::proc
