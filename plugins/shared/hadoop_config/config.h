// SPDX-License-Identifier: Apache-2.0
// Configuration in Hadoop's XML: core-site.xml, yarn-site.xml, a job's _conf.xml. Pure: text to values; the text may be anything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::hadoop_config {

inline constexpr size_t kMaxFile = size_t{16} << 20;    // a larger text is not read
inline constexpr size_t kMaxProperties = 100'000;       // those beyond are not taken
inline constexpr size_t kMaxText = size_t{64} << 10;    // a property with a longer key or value is not taken
inline constexpr size_t kMaxValues = size_t{32} << 20;  // of all keys and values; those beyond are not taken

struct Property {
  std::string key, value;  // as written: variables such as ${user.name} are not replaced
};

struct Config {
  std::vector<Property> properties;  // each key once, in the order in which they were first set
  uint64_t skipped = 0;              // properties without a key or value, and those beyond the limits
  std::string problem;               // why not all of the text was read, with its line; empty: it was
};

// As Hadoop reads them: a key that is set again has the last value, unless an earlier one is final. What stands before the place
// where the text is damaged is kept. Files that it includes are not read; a text that declares entities is refused.
Config read_config(std::string_view xml);

}  // namespace atalaya::hadoop_config
