// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>

#include "plugins/sources/self/reader.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  atalaya::self::Reading reading;
  atalaya::self::parse_status({reinterpret_cast<const char *>(data), size}, reading);
  if (reading.resident_mib.value_or(0) < 0 || reading.threads.value_or(0) < 0) std::abort();
  return 0;
}
