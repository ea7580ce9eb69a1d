// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace atalaya::jvm {

// One thing that a JVM shares. Its parts lie in the file's bytes; empty where they would lie outside.
struct SharedValue {
  std::string_view name, bytes;
  char type = 0;

  std::optional<int64_t> number() const;
  std::optional<std::string_view> text() const;
};

// All that a JVM shares, from the bytes of its file hsperfdata_USER/PID, one after the other, until the file ends or is not what it
// should be.
class SharedReader {
 public:
  explicit SharedReader(std::string_view file);
  bool next(SharedValue &value);

 private:
  std::string_view rest_;
  uint32_t left_ = 0;
};

// A text that a JVM shares under this name, from the bytes of its file hsperfdata_USER/PID. The JVM cuts it after 1023 bytes.
// Nothing when the file does not say, is of another byte order or version, or is not what it should be. The text lies in `file`.
std::optional<std::string_view> text_in(std::string_view file, std::string_view name);

// What a JVM was started with, its main class or jar and their arguments with blanks between them (sun.rt.javaCommand), from the
// same bytes. Nothing also when it is empty.
std::optional<std::string_view> java_command_in(std::string_view file);

}  // namespace atalaya::jvm
