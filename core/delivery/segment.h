// SPDX-License-Identifier: Apache-2.0
// The files of a spool: append-only segments of records, one record a batch. This is the only description of their bytes.
//
// Invariants
//  - A record is whole or it is not there: its header and its body each have a checksum. What is damaged costs itself only; the
//  next
//    good record is found by its magic, the spool's id and its checksum at a multiple of 8.
//  - Each record says how many samples its pipeline had put in before it, so that what is missing between two records is known
//    exactly, however it got lost.
//  - Each segment begins with these totals of all pipelines, so that reopening reads the last segment, not the backlog.
//  - Little-endian, all parts 8-byte aligned, gaps are zero. The payload is a flat record (core/base/encode/flat.h) with a checksum of
//    its own; nothing here depends on that.
//
// <first sequence in 16 hex digits>.seg (sizes in bytes)
//   header 48
//     0  magic "ATLS"     4  u16 version = 1     6  u16 sample layout (ATALAYA_SAMPLE_LAYOUT)
//     8  u64 id of the spool    16  u64 sequence of the first record    24  i64 time it was begun, Unix ns
//    32  u32 size of header and table    36  u32 pipelines    40  u32 CRC-32C of the table    44  u32 CRC-32C of bytes 0..43
//   table: each pipeline  u64 samples put in before this segment, u32 size of its name, u32 0, the name, zeros
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
  uint32_t size = 0;  // in the file; set by the parser
};

struct RecordHeader {
  uint64_t id = 0, sequence = 0;
  int64_t time_ns = 0;
  uint64_t before = 0;
  uint32_t samples = 0, name_size = 0, payload_size = 0, body_crc = 0, name_crc = 0;

  uint64_t size() const;  // of the whole record
};

void append_segment_header(const SegmentHeader &header, std::string &out);
// The sizes and checksums of the header come from the name and the payload.
void append_record(RecordHeader header, std::string_view name, std::string_view payload, std::string &out);

// The error says whether the bytes are damaged or of another version.
Result<SegmentHeader> parse_segment_header(std::string_view bytes);
bool of_another_version(std::string_view bytes);
// From at least kRecordHeaderSize bytes; nothing when they are no header of this spool (id 0: of any).
std::optional<RecordHeader> parse_record_header(std::string_view bytes, uint64_t id);
bool body_is_whole(const RecordHeader &header, std::string_view body);
// The first position from `from` on, a multiple of 8, that begins a record's header; bytes.size() when there is none.
size_t find_record(std::string_view bytes, size_t from, uint64_t id);

// Reads one segment's records in order, also while another thread appends to it.
class SegmentReader {
 public:
  enum class Kind { record, damage, end };
  struct Found {
    Kind kind = Kind::end;
    uint64_t offset = 0, size = 0;  // the bytes it covers
    RecordHeader header;            // of a record, and of a damaged one whose header is whole (then `named`)
    bool named = false;
    std::string_view name, payload;  // of a record; valid until the next call
  };

  // `id` 0: that of the header. A damaged header is no error: the records behind it are found all the same. One of another version
  // is.
  static Result<SegmentReader> open(const std::string &path, uint64_t id);

  const std::optional<SegmentHeader> &header() const { return header_; }
  uint64_t begin() const { return header_ ? header_->size : 0; }  // where the first record, or the damage, begins
  uint64_t file_size() const;

  // The entry at the offset, where `end` is the end of the segment. Without `check_body` a record's payload is not read.
  Found at(uint64_t offset, uint64_t end, bool check_body = true);
  // The bytes as they are, for quarantine.
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
