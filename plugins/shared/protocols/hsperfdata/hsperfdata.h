// SPDX-License-Identifier: Apache-2.0
// The shared counters of a HotSpot JVM, its file hsperfdata_USER/PID. Source: perfMemory.hpp of OpenJDK 17, version 2.0.
// The file: a header of 32 bytes, then the entries. All numbers are in the host's byte order.
//   header   0 magic ca fe c0 c0   4 byte order, 1 little   5 major version, 2   8 used bytes   24 offset of the first entry
//            28 number of entries
//   entry    0 its length   4 offset of its name   8 elements of its value, 0 for a single one   12 type, 'B': bytes, 'J': 64 bits
//            16 offset of its value; offsets count from the entry's start
// Names and texts end with NUL. The next entry follows at once. A file with another magic, order or version has no entries;
// a malformed entry ends them; an entry whose name or value would exceed it has neither. Whether the JVM has completed the file
// (byte 7) is ignored, because each entry is complete when its number is counted.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace atalaya::protocols {

// One entry of a JVM's shared counters. Its members are views of the file's bytes; empty if they would exceed the file.
struct SharedValue {
  std::string_view name, bytes;
  char type = 0;

  std::optional<int64_t> number() const;
  std::optional<std::string_view> text() const;
};

// Iterates over the entries in the bytes of a JVM's file hsperfdata_USER/PID, until its end or a malformed entry.
class SharedReader {
 public:
  explicit SharedReader(std::string_view file);
  bool next(SharedValue &value);

 private:
  std::string_view rest_;
  uint32_t remaining_ = 0;  // entries that are not read yet
};

// The text entry with this name in the bytes of a JVM's file hsperfdata_USER/PID; the JVM truncates texts to 1023 bytes. Nothing
// if it is missing, or the file is malformed or has another byte order or version. The result is a view of `file`.
std::optional<std::string_view> text_in(std::string_view file, std::string_view name);

// The JVM's command in these bytes: main class or jar and its arguments, separated by spaces (sun.rt.javaCommand). Nothing if it
// is empty.
std::optional<std::string_view> java_command_in(std::string_view file);

}  // namespace atalaya::protocols
