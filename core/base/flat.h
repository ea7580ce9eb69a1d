// SPDX-License-Identifier: Apache-2.0
// The one flat encoding of a batch: for files, other processes and other machines. A record is one batch; records may follow one
// another.
//
// Invariants
//  - Every byte of a record has one meaning and is covered by a checksum: a reader that accepts a record has read all of it.
//  - No offset is stored. Arrays and strings follow in a fixed order, so that a position is the sum of the sizes before it, nothing
//  can
//    overlap, and a reader's allocations are bounded by a small multiple of the record's size.
//  - Ids are positions in the record's own table of names; each name is sent once.
//  - Little-endian, every part 8-byte aligned from the record's begin, gaps are zero. Readers assume nothing of their own
//  alignment.
//
// Layout (sizes in bytes)
//   header 64
//     0  magic "ATLB"          4  u16 version = 1     6  u16 sample layout (ATALAYA_SAMPLE_LAYOUT)
//     8  u64 record size, header included, a multiple of 8
//    16  u64 names   24  u64 samples   32  u64 tags   40  u64 fields   48  u64 string bytes
//    56  u32 CRC-32C of bytes 0..55    60  u32 CRC-32C of bytes 64..end
//   names    u32 size each; then 4 zero bytes if their number is odd. Size 0 means the id 0, "no name"
//   samples  32 each: u32 kind, tags, fields, text size; i64 time, duration
//   tags      8 each: u32 name (position in the table), value size
//   fields   16 each: u32 name, type; 8 value
//   strings  the names; then a sample after the other: its text, its tags' values; then zeros up to a multiple of 8
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/batch.h"
#include "core/base/symbols.h"
#include "core/base/result.h"

namespace atalaya::core {

constexpr size_t kFlatHeaderSize = 64;
// One less than a batch holds, because the host adds a tag of its own.
constexpr uint32_t kFlatMaxTags = 65534;
constexpr uint32_t kFlatMaxFields = 65535;

// Writes records; reused, it allocates nothing in steady state. One thread.
class FlatEncoder {
 public:
  // Appends one record. An error (a kind or type that does not exist, too many tags or fields, a text of 4 GiB) leaves `out` as it
  // was.
  Status append(const atalaya_batch &batch, const Symbols &symbols, std::string &out);

 private:
  uint32_t position_of(uint32_t id);

  std::vector<uint32_t> positions_;  // by id: position in names_ + 1, 0 = not in it
  std::vector<uint32_t> names_;      // ids in the order of the record's table
};

// The same for a single batch.
Status encode_flat(const atalaya_batch &batch, const Symbols &symbols, std::string &out);

struct Decoded {
  size_t size = 0;  // bytes of the record; 0: truncated, the record goes on after the end of `bytes`
  uint64_t samples = 0;
  bool truncated() const { return size == 0; }
};

// Reads the record that `bytes` begins with and appends its samples to `into`. An error means corrupt, or written by another
// version; it leaves the samples of `into` as they were.
Result<Decoded> decode_flat(std::string_view bytes, Symbols &symbols, Batch &into);

// Writes the two checksums of a whole record: the encoder's last step, and how tests make records that are wrong inside.
void seal_flat(char *record, size_t size);

}  // namespace atalaya::core
