// SPDX-License-Identifier: Apache-2.0
// Reads the messages that the kernel writes to /dev/kmsg after open(), each once.
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
  using Callback = std::function<void(const LogRecord &)>;

  KernelLog() = default;
  explicit KernelLog(core::Descriptor file);  // a descriptor that returns one record per read
  // Opens the log after its last existing message.
  core::Status open(const std::string &path);
  void close();
  bool is_open() const { return static_cast<bool>(file_); }

  // Calls `take` with each new message of the kernel itself. Returns the number of messages that were lost (overwritten or
  // unreadable).
  uint64_t read(const Callback &take);

 private:
  core::Descriptor file_;
  std::vector<char> buffer_;
  std::optional<uint64_t> next_;  // expected sequence number of the next record
};

}  // namespace atalaya::kernel
