// SPDX-License-Identifier: Apache-2.0
// The binary encoding of batches in files, between processes and between hosts. A record is one batch; a stream is a sequence of
// records.
//
// Invariants
//  - Every byte of a record has one meaning and is covered by a checksum: a reader that accepts a record has read all of it.
//  - A record stores no offsets. Its parts have a fixed order and a position is the sum of the sizes before it, so parts cannot
//    overlap, and a reader allocates at most a small multiple of the record's size.
//  - Ids are positions in the record's own table of names; each name is sent once.
//  - The declaration of a metric (unit, kind, decimals, summary, source) is sent by the first record of a stream that has its name,
//    such as a segment of a spool or a connection. A record without its stream can be read, but its metrics are undeclared.
//  - Numbers are little-endian. Every part is 8-byte aligned from the record's start; gaps are zero. The record
//    itself may be at any address.
//
// Layout (sizes in bytes)
//   header 72
//     0  magic "ATLB"          4  u16 version = 2     6  u16 sample layout (ATALAYA_SAMPLE_LAYOUT)
//     8  u64 record size, header included, a multiple of 8
//    16  u64 names   24  u64 samples   32  u64 tags   40  u64 fields   48  u64 string bytes   56  u64 metrics
//    64  u32 CRC-32C of bytes 0..63    68  u32 CRC-32C of bytes 72..end
//   names    u32 size each; then 4 zero bytes if their number is odd. Size 0 means the id 0, "no name"
//   metrics  24 each, names ascending: u32 name, kind, i32 decimals, u32 unit size, summary size, source size
//   samples  32 each: u32 kind, tags, fields, text size; i64 time, duration
//   tags      8 each: u32 name (position in the table), value size
//   fields   16 each: u32 name, type; 8 value
//   strings  the names; each metric's unit, summary and source; each sample's text and the values of its tags; zeros up to a
//            multiple of 8
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/sample/batch.h"
#include "core/base/sample/symbols.h"

namespace atalaya::core {

constexpr size_t kFlatHeaderSize = 72;
// One less than a batch can have, because the engine adds the tag `host`.
constexpr uint32_t kFlatMaxTags = 65534;
constexpr uint32_t kFlatMaxFields = 65535;

// Whether a record can contain the sample: its kind and types are known, its tags and fields are within the limits, no text has 4
// GiB.
bool is_encodable(const atalaya_sample &sample);

// Writes the records of one stream. A reused encoder allocates nothing in steady state. One thread.
class FlatEncoder {
 public:
  // Appends one record. If a sample is not encodable, returns an error and leaves `out` unchanged.
  Status append(const atalaya_batch &batch, const NameTable &symbols, std::string &out);
  // Starts another stream: the next record sends the declarations of its metrics again.
  void start_stream() { sent_.clear(); }
  // Whether the last record has the declarations of all its metrics, also those that an earlier record of the stream has sent.
  bool complete() const { return complete_; }

 private:
  struct Metric {
    uint32_t position;
    const atalaya_metric_info *info;
  };
  uint32_t position_of(uint32_t id);
  void collect_names(const atalaya_batch &batch);
  void collect_metrics(const NameTable &symbols);

  std::vector<uint32_t> positions_;  // by id: position in names_ + 1; 0: missing there
  std::vector<uint32_t> names_;      // ids in the order of the record's table of names
  std::vector<Metric> metrics_;      // the declarations that the record sends
  std::vector<bool> sent_;           // by id: the stream has its declaration
  bool complete_ = true;
};

// Appends a stream of one record.
Status encode_flat(const atalaya_batch &batch, const NameTable &symbols, std::string &out);

struct Decoded {
  size_t size = 0;  // bytes of the record; 0: `bytes` ends before the record does
  uint64_t samples = 0;
  bool truncated() const { return size == 0; }
};

// Reads the record at the start of `bytes`, declares its metrics and appends its samples to `into`. Returns an error if the record
// is corrupt or of another version; the samples of `into` are then unchanged.
Result<Decoded> decode_flat(std::string_view bytes, NameTable &symbols, Batch &into);
// Declares the metrics of the record at the start of `bytes`. False if the record is corrupt, truncated or of another version.
bool declare_flat(std::string_view bytes, NameTable &symbols);

// A decoded record for readers that need no batch. Its texts are views of the record's bytes.
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

  // Reads the record at the start of `bytes`; size() is 0 if it is truncated.
  static Result<FlatRecord> read(std::string_view bytes);
  size_t size() const { return bytes_.size(); }
  uint64_t sample_count() const { return samples_; }
  const std::vector<std::string_view> &names() const { return names_; }
  const std::vector<Metric> &metrics() const { return metrics_; }
  void for_each_sample(const std::function<void(const Sample &)> &visit) const;

 private:
  std::string_view bytes_;
  uint64_t samples_ = 0;
  std::vector<std::string_view> names_;
  std::vector<Metric> metrics_;
};

// Writes the two checksums into the header of a complete record. Tests use it to make records that are invalid in other ways.
void seal_flat(char *record, size_t size);

}  // namespace atalaya::core
