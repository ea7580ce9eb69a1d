// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace atalaya::protocols {

// One entry that a JVM shares. Its members point into the file's bytes; empty if they would be outside.
struct SharedValue {
  std::string_view name, bytes;
  char type = 0;

  std::optional<int64_t> number() const;
  std::optional<std::string_view> text() const;
};

// Iterates over the entries that a JVM shares, in the bytes of its file hsperfdata_USER/PID, until the end or a malformed
// entry.
class SharedReader {
 public:
  explicit SharedReader(std::string_view file);
  bool next(SharedValue &value);

 private:
  std::string_view rest_;
  uint32_t left_ = 0;
};

// The text that a JVM shares under this name, from the bytes of its file hsperfdata_USER/PID. The JVM truncates it to 1023 bytes.
// Nothing if it is missing or the file has another byte order or version or is malformed. The text points into `file`.
std::optional<std::string_view> text_in(std::string_view file, std::string_view name);

// The JVM's command: main class or jar and its arguments, separated by spaces (sun.rt.javaCommand), from the
// same bytes. Nothing if it is empty.
std::optional<std::string_view> java_command_in(std::string_view file);

}  // namespace atalaya::protocols
