// SPDX-License-Identifier: Apache-2.0
// The format of a chunk's bytes, for writers and readers, also for programs that read chunks without Atalaya.
//
// Integers are little-endian. v is a LEB128 varint, z a zigzag-encoded one. `head` is, in this order:
// - checksum: 4 bytes, CRC-32C of the rest of the head
// - format: 1 byte, 2. Chunks of schema 6 have format 1: without blocks and runs
// - timelines (the times and durations of points): v count; for each v number of points, z first time, v last time minus first
//   time, v unit in ns, v size in bytes, segment, blocks
// - columns (the values of one metric): v count; for each v 2 d + s, then v timeline only if s = 0, layout, summary, v size in
//   bytes if the width is 15, segment. d is the metric id minus that of the column before; s is 1 if the column has the same
//   timeline as that one, else 0
// - checksum: 4 bytes, CRC-32C of all small segments
//
// The parts of these:
// - Segment: in the head v compressed size, 0: not compressed. A segment of less than 64 bytes is small; 4 bytes CRC-32C follow
//   for any other. A compressed segment is a zstd frame without its first four bytes. `data` has first all small segments and
//   then all others, each group in the order of the head.
// - Timeline: runs of equal distances (v count, v distance in units), then runs of equal durations (v count, z ns).
// - Blocks: the points of one stretch of ten minutes, an hour or six hours: the shortest one that has at least 256 points on
//   average. v number of blocks, 0 if they would be one. Then, for equal blocks in a row: v how many, v number of points, v
//   distance from the last point of the block before in units (not used for the first block), v distance from the first point
//   to the last one in units.
// - Layout: 1 byte. Bits 0-1 are the codec, bit 2 is set if the values are counts, bits 3-6 are the width of a value in bytes.
//   If bit 7 is set, a byte with the number of decimals follows.
// - Codecs 0 (plain) and 1 (delta) are of integers: the values times a power of ten, as the distance to the minimum, or to the
//   value before, zigzag-encoded. Codec 2 (bits) is the exclusive or of the 64 bits with those of the value before, for values
//   that are not short decimal numbers. Codec 3 (mixed) is the 64 bits unchanged, and one byte per value that marks counts.
// - Summary of a column with width 0: only z value. With a larger width:
//   - Codecs 0 and 1: z minimum. If the column has more than 4 points, v first, v last, v maximum and v sum follow, all minus
//     the minimum.
//   - Codec 2: the doubles first, last, minimum, maximum and sum, if the column has more than 4 points.
//   - If the timeline has blocks, each block has such a summary instead. With codecs 0 and 1: z minimum of the column; then for
//     each block v minimum minus that of the column, v maximum minus the block's minimum, and if that is not 0, v first, v last
//     and v sum, each value minus the block's minimum.
// - Runs (width 15, codecs 0 and 1) hold integers: with codec 0 the distances to the minimum, with codec 1 the distances to the
//   value before, the first one 0. v 2 n + p, z least minus the least of the run before. If p is 1, the n integers follow: 1
//   byte with the number of bits b, then n times b bits, the lowest first, of the distance to the least, and zeroes up to the
//   next byte. If p is 0, all n are equal.
// - Values of other widths: the lowest byte of each value, then the next byte of each value, and so on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace atalaya::store {

enum class Codec : uint8_t {
  plain,  // integers, as difference to the minimum
  delta,  // integers, as difference to the previous one
  bits,   // any 64 bits, as exclusive or with the previous ones
  mixed,  // any 64 bits, after one byte per value that marks counts
};

constexpr size_t kMaxChunkPoints = 65'536;  // maximum points of one series

constexpr uint8_t kFormat = 2;        // format of written chunks
constexpr uint8_t kOldestFormat = 1;  // oldest format that can be read: without blocks and runs
constexpr size_t kRuns = 15;          // marker in place of a width in bytes: integers as runs (integer_runs.h)
constexpr size_t kMaxBlocks = kMaxChunkPoints / 256;
constexpr uint8_t kMaxDecimals = 9;
constexpr size_t kFew = 4;  // maximum points without a summary
// Integers with a larger difference are stored as bits, so that no difference and no sum of kMaxChunkPoints of them overflows.
constexpr int64_t kMaxDistance = int64_t{1} << 46;
constexpr size_t kMagic = 4;   // the constant first bytes of every zstd frame, which are not stored
constexpr size_t kSmall = 64;  // bytes of a segment; smaller ones share a checksum
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

// Sums and differences of untrusted numbers: they wrap without undefined behaviour.
inline int64_t plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t minus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

}  // namespace atalaya::store
