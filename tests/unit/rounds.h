// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace atalaya::test {

// Rounds of a random test: sanitizers without optimisation take twenty times as long.
constexpr uint32_t rounds(uint32_t plain) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return (plain + 19) / 20;
#else
  return plain;
#endif
}

}  // namespace atalaya::test
