// SPDX-License-Identifier: Apache-2.0
// The bytes of a JVM's file hsperfdata_USER/PID.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::testing {

inline std::string bytes_of(uint32_t number) {
  return std::string(reinterpret_cast<const char *>(&number), sizeof(number));
}

struct SharedEntry {
  std::string name, value;
  char type = 'B';
};

// A number, as JVMs share it: 8 bytes where 8 divides their place.
inline std::string shared_number(const std::string &name, int64_t number) {
  std::string tail = name + '\0';
  tail.resize((20 + tail.size() + 7) / 8 * 8 - 20);
  const auto value_at = static_cast<uint32_t>(20 + tail.size());
  tail.append(reinterpret_cast<const char *>(&number), sizeof(number));
  return bytes_of(value_at + 8) + bytes_of(20) + bytes_of(0) + 'J' + '\0' + '\1' + '\3' + bytes_of(value_at) + tail;
}

inline std::string shared_entry(const SharedEntry &entry) {
  const auto value_at = static_cast<uint32_t>(20 + entry.name.size() + 1);
  const auto elements = static_cast<uint32_t>(entry.value.size() + 1);
  std::string tail = entry.name + '\0' + entry.value + '\0';
  tail.resize((tail.size() + 3) / 4 * 4);
  return bytes_of(static_cast<uint32_t>(20 + tail.size())) + bytes_of(20) + bytes_of(elements) + entry.type + '\0' + '\5' + '\1' +
         bytes_of(value_at) + tail;
}

inline std::string shared_file_of(const std::vector<std::string> &entries) {
  std::string body;
  for (const std::string &entry : entries) body += entry;
  std::string header = std::string("\xca\xfe\xc0\xc0\x01\x02\x00\x01", 8);
  header += bytes_of(static_cast<uint32_t>(32 + body.size())) + bytes_of(0) + bytes_of(0) + bytes_of(0) + bytes_of(32) +
            bytes_of(static_cast<uint32_t>(entries.size()));
  return header + body + std::string(64, '\0');
}

inline std::string shared_file(const std::vector<SharedEntry> &entries) {
  std::vector<std::string> bytes;
  bytes.reserve(entries.size());
  for (const SharedEntry &entry : entries) bytes.push_back(shared_entry(entry));
  return shared_file_of(bytes);
}

inline std::string shared_file_saying(std::string_view java_command) {
  return shared_file(
      {{"java.property.java.version", "17.0.15"}, {"sun.rt.javaCommand", std::string(java_command)}, {"sun.rt.jvmVersion", "x"}});
}

}  // namespace atalaya::testing
