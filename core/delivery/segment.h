// SPDX-License-Identifier: Apache-2.0
// The segment files of a spool: append-only sequences of records, one record per batch.
//
// Invariants
//  - A record is complete or ignored: its header and its body each have a checksum. Damage affects only the damaged bytes:
//    the reader finds the next valid record at a multiple of 8 by its magic, the spool's id and its checksum.
//  - A record has the number of samples that its pipeline appended before it. The number of samples that are missing between two
//    records is therefore exact.
//  - A segment starts with these totals of all pipelines. Opening a spool therefore reads only the last segment.
//  - Numbers are little-endian, all parts 8-byte aligned, gaps zero. The payload is opaque here; it is a flat record
//    (core/base/encode/flat.h).
//
// <first sequence in 16 hex digits>.seg (sizes in bytes)
//   header 48
//     0  magic "ATLS"     4  u16 version = 1     6  u16 sample layout (ATALAYA_SAMPLE_LAYOUT)
//     8  u64 id of the spool    16  u64 sequence of the first record    24  i64 creation time, Unix ns
//    32  u32 size of header and table    36  u32 pipelines    40  u32 CRC-32C of the table    44  u32 CRC-32C of bytes 0..43
//   table: each pipeline  u64 samples appended before this segment, u32 size of its name, u32 0, the name, zeros
//   records, one after the other
//     0  magic "ATLR"     4  u32 size of the payload    8  u64 id of the spool    16  u64 sequence    24  i64 time, Unix ns
//    32  u64 samples of its pipeline before it    40  u32 samples    44  u32 size of the pipeline's name
//    48  u32 CRC-32C of bytes 64..end    52  u32 CRC-32C of the name    56  u32 0    60  u32 CRC-32C of bytes 0..59
//    64  the name, the payload, zeros
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"

namespace atalaya::core {

constexpr size_t kSegmentHeaderSize = 48;
constexpr size_t kRecordHeaderSize = 64;
constexpr uint32_t kMaxPayloadSize = uint32_t{1} << 30;

struct PipelineTotal {
  std::string name;
  uint64_t samples = 0;
};

struct SegmentHeader {
  uint64_t id = 0, first_sequence = 0;
  int64_t time_ns = 0;
  std::vector<PipelineTotal> totals;
  uint32_t size = 0;  // bytes in the file; set by the parser
};

struct RecordHeader {
  uint64_t id = 0, sequence = 0;
  int64_t time_ns = 0;
  uint64_t before = 0;  // samples that the pipeline appended before this record
  uint32_t samples = 0, name_size = 0, payload_size = 0, body_crc = 0, name_crc = 0;

  uint64_t size() const;  // bytes of header and body
};

void append_segment_header(const SegmentHeader &header, std::string &out);
// Appends a record. Computes the sizes and checksums in the header from the name and the payload.
void append_record(RecordHeader header, std::string_view name, std::string_view payload, std::string &out);

// Returns an error if the bytes are damaged or of another version.
Result<SegmentHeader> parse_segment_header(std::string_view bytes);
bool is_other_version(std::string_view bytes);
// Reads a record's header from at least kRecordHeaderSize bytes. Returns nothing if they are not a header of the spool `id` (0: of
// any spool).
std::optional<RecordHeader> parse_record_header(std::string_view bytes, uint64_t id);
bool body_is_valid(const RecordHeader &header, std::string_view body);
// The first position of a record's header at or after `from`, a multiple of 8; bytes.size() if there is no header.
size_t find_record(std::string_view bytes, size_t from, uint64_t id);

// Reads the records of one segment in their order, also while another thread appends to it.
class SegmentReader {
 public:
  enum class Kind { record, damage, end };
  struct Found {
    Kind kind = Kind::end;
    uint64_t offset = 0, size = 0;   // position of the record or the damage in the file
    RecordHeader header;             // header of a record, or of damage with a valid header
    bool has_header = false;         // `header` is valid
    std::string_view name, payload;  // name and payload of a record; valid until the next call
  };

  // `id`: the spool's; 0: read it from the header. A damaged header is no error, because the records after it can be read. A
  // header of another version is an error.
  static Result<SegmentReader> open(const std::string &path, uint64_t id);

  const std::optional<SegmentHeader> &header() const { return header_; }
  uint64_t begin() const { return header_ ? header_->size : 0; }  // offset of the first record; 0: the header is damaged
  uint64_t file_size() const;

  // The record or the damage at an offset. `end` is the end of the segment. Without `check_body` a record's payload is not read.
  Found at(uint64_t offset, uint64_t end, bool check_body = true);
  // The unchanged bytes of a part of the file.
  std::string raw(uint64_t offset, uint64_t size) const;

 private:
  SegmentReader(Descriptor file, uint64_t id) : file_(std::move(file)), id_(id) {}
  bool read(uint64_t offset, size_t size, std::string &into) const;
  uint64_t next_record(uint64_t from, uint64_t end) const;

  Descriptor file_;
  uint64_t id_;
  std::optional<SegmentHeader> header_;
  std::string header_bytes_, body_;
};

}  // namespace atalaya::core
