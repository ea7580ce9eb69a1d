// SPDX-License-Identifier: Apache-2.0
#include "core/base/encode/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

namespace atalaya::core {
namespace {

// Slicing-by-8 (Kounavis, Berry 2005): table n has the effect of a byte on the remainder if n more bytes follow.
using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0x82f63b78u : 0u);
    tables[0][byte] = value;
  }
  for (size_t n = 1; n < 8; ++n) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[n - 1][byte];
      tables[n][byte] = before >> 8 ^ tables[0][before & 0xff];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();
static_assert(std::endian::native == std::endian::little);

// The functions read and return the remainder between two bytes, without the final inversion.
uint32_t by_tables(uint32_t crc, std::string_view bytes) {
  while (bytes.size() >= 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    word ^= crc;
    crc = 0;
    for (size_t i = 0; i < 8; ++i) crc ^= kTables[7 - i][word >> (8 * i) & 0xff];
    bytes.remove_prefix(8);
  }
  for (const char byte : bytes) crc = crc >> 8 ^ kTables[0][(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return crc;
}

#ifdef __x86_64__
// Uses the CRC32 instruction of SSE 4.2, 8 bytes per instruction.
__attribute__((target("sse4.2"))) uint32_t by_instruction(uint32_t crc, std::string_view bytes) {
  uint64_t rest = crc;
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    rest = __builtin_ia32_crc32di(rest, word);
  }
  return by_tables(static_cast<uint32_t>(rest), bytes);
}

const auto remainder_of = __builtin_cpu_supports("sse4.2") ? by_instruction : by_tables;
#else
const auto remainder_of = by_tables;
#endif

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  return ~remainder_of(~0u, bytes);
}

}  // namespace atalaya::core
