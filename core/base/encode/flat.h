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
//  - The declaration of a metric (unit, kind, decimals, summary, source) is sent by the first record of a stream that has its name,
//    such as a segment of a spool or a connection. A record whose stream is not known reads all the same, without them.
//  - Little-endian, every part 8-byte aligned from the record's begin, gaps are zero. Readers assume nothing of their own
//  alignment.
//
// Layout (sizes in bytes)
//   header 72
//     0  magic "ATLB"          4  u16 version = 2     6  u16 sample layout (ATALAYA_SAMPLE_LAYOUT)
//     8  u64 record size, header included, a multiple of 8
//    16  u64 names   24  u64 samples   32  u64 tags   40  u64 fields   48  u64 string bytes   56  u64 metrics
//    64  u32 CRC-32C of bytes 0..63    68  u32 CRC-32C of bytes 72..end
//   names    u32 size each; then 4 zero bytes if their number is odd. Size 0 stands for the id 0, "no name"
//   metrics  24 each, names ascending: u32 name, kind, i32 decimals, u32 unit size, summary size, source size
//   samples  32 each: u32 kind, tags, fields, text size; i64 time, duration
//   tags      8 each: u32 name (position in the table), value size
//   fields   16 each: u32 name, type; 8 value
//   strings  the names; each metric's unit, summary and source; then a sample after the other: its text, its tags' values; then
//   zeros up to a multiple of 8
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/sample/batch.h"
#include "core/base/result.h"
#include "core/base/sample/symbols.h"

namespace atalaya::core {

constexpr size_t kFlatHeaderSize = 72;
// One less than a batch holds, because the host adds a tag of its own.
constexpr uint32_t kFlatMaxTags = 65534;
constexpr uint32_t kFlatMaxFields = 65535;

// Whether a record can hold the sample: known kind and types, not too many tags and fields, no text of 4 GiB.
bool has_flat_form(const atalaya_sample &sample);

// Writes the records of one stream; reused, it allocates nothing in steady state. One thread.
class FlatEncoder {
 public:
  // Appends one record. An error (a kind or type that does not exist, too many tags or fields, a text of 4 GiB) leaves `out` as it
  // was.
  Status append(const atalaya_batch &batch, const NameTable &symbols, std::string &out);
  // Another stream begins: the next record sends the declarations of its metrics again.
  void forget() { sent_.clear(); }
  // Whether the last record has the declarations of all its metrics, not only those that its stream did not have.
  bool complete() const { return complete_; }

 private:
  struct Metric {
    uint32_t position;
    const atalaya_metric_info *info;
  };
  uint32_t position_of(uint32_t id);
  void collect_names(const atalaya_batch &batch);
  void collect_metrics(const NameTable &symbols);

  std::vector<uint32_t> positions_;  // by id: position in names_ + 1, 0 = not in it
  std::vector<uint32_t> names_;      // ids in the order of the record's table
  std::vector<Metric> metrics_;      // whose declarations the record sends
  std::vector<bool> sent_;           // by id
  bool complete_ = true;
};

// The same for a single batch.
Status encode_flat(const atalaya_batch &batch, const NameTable &symbols, std::string &out);

struct Decoded {
  size_t size = 0;  // bytes of the record; 0: truncated, the record goes on after the end of `bytes`
  uint64_t samples = 0;
  bool truncated() const { return size == 0; }
};

// Reads the record that `bytes` begins with, declares its metrics and appends its samples to `into`. An error means corrupt, or
// written by another version; it leaves the samples of `into` as they were.
Result<Decoded> decode_flat(std::string_view bytes, NameTable &symbols, Batch &into);
// Only declares its metrics. False: corrupt, truncated or of another version.
bool declare_flat(std::string_view bytes, NameTable &symbols);

// A record for readers that make something else of it than a batch. Texts lie in the record's bytes.
class FlatRecord {
 public:
  struct Tag {
    uint32_t name;  // position in names()
    std::string_view value;
  };
  struct Field {
    uint32_t name, type;
    uint64_t bits;
  };
  struct Sample {
    uint32_t kind;
    int64_t time_ns, duration_ns;
    std::string_view text;
    std::span<const Tag> tags;
    std::span<const Field> fields;
  };
  struct Metric {
    uint32_t name;
    atalaya_metric_info info;
  };

  // Reads the record that `bytes` begins with; size() is 0 when it is truncated.
  static Result<FlatRecord> read(std::string_view bytes);
  size_t size() const { return bytes_.size(); }
  uint64_t sample_count() const { return samples_; }
  const std::vector<std::string_view> &names() const { return names_; }
  const std::vector<Metric> &metrics() const { return metrics_; }
  void each_sample(const std::function<void(const Sample &)> &take) const;

 private:
  std::string_view bytes_;
  uint64_t samples_ = 0;
  std::vector<std::string_view> names_;
  std::vector<Metric> metrics_;
};

// Writes the two checksums of a whole record: the encoder's last step, and how tests make records that are wrong inside.
void seal_flat(char *record, size_t size);

}  // namespace atalaya::core
