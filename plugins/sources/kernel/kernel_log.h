// SPDX-License-Identifier: Apache-2.0
// New messages of /dev/kmsg, each once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "plugins/sources/kernel/log_message.h"

namespace atalaya::kernel {

class KernelLog {
 public:
  using Take = std::function<void(const LogRecord &)>;

  KernelLog() = default;
  explicit KernelLog(core::Descriptor file);  // that returns one record per read
  // Begins after the messages that are there.
  core::Status open(const std::string &path);
  void close();
  bool is_open() const { return static_cast<bool>(file_); }

  // Passes the kernel's own messages; returns the number of messages that were overwritten or could not be read.
  uint64_t read(const Take &take);

 private:
  core::Descriptor file_;
  std::vector<char> buffer_;
  std::optional<uint64_t> next_;  // the sequence number that is expected
};

}  // namespace atalaya::kernel
