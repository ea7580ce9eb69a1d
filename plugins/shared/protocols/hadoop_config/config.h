// SPDX-License-Identifier: Apache-2.0
// Parses configuration in Hadoop's XML: core-site.xml, yarn-site.xml, a job's _conf.xml. Pure; the text is untrusted input.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::hadoop_config {

inline constexpr size_t kMaxFile = size_t{16} << 20;    // a larger text is not read
inline constexpr size_t kMaxProperties = 100'000;       // further ones are skipped
inline constexpr size_t kMaxText = size_t{64} << 10;    // a property with a longer key or value is skipped
inline constexpr size_t kMaxValues = size_t{32} << 20;  // bytes of all keys and values; further properties are skipped

struct Property {
  std::string key, value;  // as written: variables such as ${user.name} are not replaced
};

struct Config {
  std::vector<Property> properties;  // each key once, in order of first occurrence
  uint64_t skipped = 0;              // properties without key or value, or beyond the limits
  std::string problem;               // the reason why reading stopped, with the line; empty: none
};

// Reads as Hadoop does: the last value of a key is used, unless an earlier one is final. Properties before damaged text are valid.
// Included files are not read. A text that declares entities is rejected.
Config read_config(std::string_view xml);

}  // namespace atalaya::hadoop_config
