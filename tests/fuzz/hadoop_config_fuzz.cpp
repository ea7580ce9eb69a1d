// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <set>

#include "plugins/shared/protocols/hadoop_config/config.h"

using namespace atalaya::hadoop_config;

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const Config config = read_config({reinterpret_cast<const char *>(data), size});
  std::set<std::string> keys;
  for (const Property &property : config.properties)
    if (property.key.empty() || property.key.size() > kMaxText || property.value.size() > kMaxText ||
        !keys.insert(property.key).second)
      std::abort();
  return 0;
}
