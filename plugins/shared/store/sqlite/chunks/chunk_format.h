// SPDX-License-Identifier: Apache-2.0
// The format of a chunk's bytes, for writers and readers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace atalaya::store {

enum class Codec : uint8_t {
  plain,  // integers, as distance to the least
  delta,  // integers, as distance to the one before
  bits,   // whatever 64 bits, as exclusive or with those before
  mixed,  // bits, and before them whether each is a count
};

constexpr size_t kMaxChunkPoints = 65'536;  // of one series

constexpr uint8_t kFormat = 2;        // that is written
constexpr uint8_t kOldestFormat = 1;  // that is read: without blocks and runs
constexpr size_t kRuns = 15;          // instead of a width in bytes: integers as runs (integer_runs.h)
constexpr size_t kMaxBlocks = kMaxChunkPoints / 256;
constexpr uint8_t kMaxDecimals = 9;
constexpr size_t kFew = 4;  // points that need no summary
// Integers further apart are kept as bits: so that no distance and no sum of kMaxChunkPoints of them overflows.
constexpr int64_t kMaxDistance = int64_t{1} << 46;
constexpr size_t kMagic = 4;   // the first bytes of every zstd frame, which say nothing
constexpr size_t kSmall = 64;  // bytes of a segment; smaller ones have a checksum together
constexpr std::array<double, kMaxDecimals + 1> kTens = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};

inline uint64_t zigzag(int64_t value) {
  return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
}
inline int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1 ^ -(value & 1));
}

inline void put_varint(std::string &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

// Sums and differences of foreign numbers: they wrap and do not trap.
inline int64_t plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t minus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

}  // namespace atalaya::store
