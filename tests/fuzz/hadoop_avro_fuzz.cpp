// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/history_fuzz.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return atalaya::testing::fuzz_history(data, size, "Avro-Binary\n");
}
