// SPDX-License-Identifier: Apache-2.0
#include "core/delivery/segment.h"

#include <atalaya/plugin.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "core/base/encode/crc32c.h"
#include "core/delivery/bytes.h"

namespace atalaya::core {
namespace {

constexpr std::string_view kSegmentMagic = "ATLS", kRecordMagic = "ATLR";
constexpr uint16_t kSegmentVersion = 1;
constexpr uint32_t kMaxName = 65536, kMaxPipelines = 65536, kMaxHeaderSize = 16u << 20;
static_assert(std::endian::native == std::endian::little);

constexpr uint64_t aligned(uint64_t size) {
  return (size + 7) & ~uint64_t{7};
}

template <class T>
void set(std::string &bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
}

void pad(std::string &out, size_t begin) {
  out.resize(begin + aligned(out.size() - begin), '\0');
}

// Reads the table of pipelines. Returns nothing if it contradicts the header.
std::optional<std::vector<PipelineTotal>> parse_table(std::string_view table, uint32_t pipelines) {
  static constexpr size_t kFixed = 16;
  std::vector<PipelineTotal> totals;
  for (uint32_t i = 0; i < pipelines; ++i) {
    if (table.size() < kFixed) return std::nullopt;
    const auto name_size = get<uint32_t>(table, 8);
    if (name_size > kMaxName || table.size() - kFixed < aligned(name_size)) return std::nullopt;
    totals.push_back({std::string(table.substr(kFixed, name_size)), get<uint64_t>(table, 0)});
    table.remove_prefix(kFixed + aligned(name_size));
  }
  return table.empty() ? std::optional(std::move(totals)) : std::nullopt;
}

bool is_segment_header(std::string_view bytes) {
  return bytes.size() >= kSegmentHeaderSize && bytes.starts_with(kSegmentMagic) &&
         get<uint32_t>(bytes, 44) == crc32c(bytes.substr(0, 44));
}

}  // namespace

bool is_other_version(std::string_view bytes) {
  return is_segment_header(bytes) &&
         (get<uint16_t>(bytes, 4) != kSegmentVersion || get<uint16_t>(bytes, 6) != ATALAYA_SAMPLE_LAYOUT);
}

uint64_t RecordHeader::size() const {
  return kRecordHeaderSize + aligned(uint64_t{name_size} + payload_size);
}

void append_segment_header(const SegmentHeader &header, std::string &out) {
  std::string table;
  for (const PipelineTotal &total : header.totals) {
    put(table, total.samples);
    put(table, static_cast<uint32_t>(total.name.size()));
    put(table, uint32_t{0});
    table += total.name;
    pad(table, 0);
  }
  const size_t begin = out.size();
  out += kSegmentMagic;
  put(out, kSegmentVersion);
  put(out, uint16_t{ATALAYA_SAMPLE_LAYOUT});
  put(out, header.id);
  put(out, header.first_sequence);
  put(out, header.time_ns);
  put(out, static_cast<uint32_t>(kSegmentHeaderSize + table.size()));
  put(out, static_cast<uint32_t>(header.totals.size()));
  put(out, crc32c(table));
  put(out, crc32c(std::string_view(out).substr(begin)));
  out += table;
}

void append_record(RecordHeader header, std::string_view name, std::string_view payload, std::string &out) {
  const size_t begin = out.size();
  out += kRecordMagic;
  put(out, static_cast<uint32_t>(payload.size()));
  put(out, header.id);
  put(out, header.sequence);
  put(out, header.time_ns);
  put(out, header.before);
  put(out, header.samples);
  put(out, static_cast<uint32_t>(name.size()));
  put(out, uint32_t{0});
  put(out, crc32c(name));
  put(out, uint64_t{0});
  out += name;
  out += payload;
  pad(out, begin);
  const std::string_view record = std::string_view(out).substr(begin);
  set(out, begin + 48, crc32c(record.substr(kRecordHeaderSize)));
  set(out, begin + 60, crc32c(record.substr(0, 60)));
}

Result<SegmentHeader> parse_segment_header(std::string_view bytes) {
  if (!is_segment_header(bytes)) return Error{"the segment's header is damaged"};
  if (is_other_version(bytes))
    return Error{"a segment of format " + std::to_string(get<uint16_t>(bytes, 4)) + "." + std::to_string(get<uint16_t>(bytes, 6)) +
                 ", this version reads " + std::to_string(kSegmentVersion) + "." + std::to_string(ATALAYA_SAMPLE_LAYOUT) +
                 "; let the version of Atalaya that wrote it deliver it"};
  SegmentHeader header;
  header.id = get<uint64_t>(bytes, 8);
  header.first_sequence = get<uint64_t>(bytes, 16);
  header.time_ns = get<int64_t>(bytes, 24);
  header.size = get<uint32_t>(bytes, 32);
  const auto pipelines = get<uint32_t>(bytes, 36);
  if (header.size < kSegmentHeaderSize || header.size > bytes.size() || pipelines > kMaxPipelines)
    return Error{"the segment's header is damaged"};
  const std::string_view table = bytes.substr(kSegmentHeaderSize, header.size - kSegmentHeaderSize);
  if (get<uint32_t>(bytes, 40) != crc32c(table)) return Error{"the segment's table is damaged"};
  auto totals = parse_table(table, pipelines);
  if (!totals) return Error{"the segment's table is damaged"};
  header.totals = std::move(*totals);
  return header;
}

std::optional<RecordHeader> parse_record_header(std::string_view bytes, uint64_t id) {
  if (bytes.size() < kRecordHeaderSize || !bytes.starts_with(kRecordMagic)) return std::nullopt;
  RecordHeader header;
  header.payload_size = get<uint32_t>(bytes, 4);
  header.id = get<uint64_t>(bytes, 8);
  header.sequence = get<uint64_t>(bytes, 16);
  header.time_ns = get<int64_t>(bytes, 24);
  header.before = get<uint64_t>(bytes, 32);
  header.samples = get<uint32_t>(bytes, 40);
  header.name_size = get<uint32_t>(bytes, 44);
  header.body_crc = get<uint32_t>(bytes, 48);
  header.name_crc = get<uint32_t>(bytes, 52);
  if (id != 0 && header.id != id) return std::nullopt;
  if (header.payload_size > kMaxPayloadSize || header.name_size > kMaxName) return std::nullopt;
  if (get<uint32_t>(bytes, 60) != crc32c(bytes.substr(0, 60))) return std::nullopt;
  return header;
}

bool body_is_valid(const RecordHeader &header, std::string_view body) {
  return body.size() == header.size() - kRecordHeaderSize && crc32c(body) == header.body_crc;
}

size_t find_record(std::string_view bytes, size_t from, uint64_t id) {
  for (size_t at = aligned(from); at + kRecordHeaderSize <= bytes.size(); at += 8)
    if (bytes.substr(at, 4) == kRecordMagic && parse_record_header(bytes.substr(at), id)) return at;
  return bytes.size();
}

Result<SegmentReader> SegmentReader::open(const std::string &path, uint64_t id) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return Error{path + ": " + error_text(errno)};
  SegmentReader reader(std::move(file), id);
  std::string bytes;
  if (!reader.read(0, kSegmentHeaderSize, bytes)) return reader;
  const auto size = get<uint32_t>(bytes, 32);
  if (size > kSegmentHeaderSize && size <= kMaxHeaderSize && size <= reader.file_size() && !reader.read(0, size, bytes))
    return reader;
  auto header = parse_segment_header(bytes);
  if (!header && is_other_version(bytes)) return Error{path + ": " + header.error()};
  if (header) {
    if (id != 0 && header->id != id) return reader;
    reader.id_ = header->id;
    reader.header_ = std::move(*header);
  }
  return reader;
}

uint64_t SegmentReader::file_size() const {
  struct stat status {};
  return ::fstat(file_.get(), &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
}

bool SegmentReader::read(uint64_t offset, size_t size, std::string &into) const {
  into.resize(size);
  size_t done = 0;
  while (done < size) {
    const ssize_t got = ::pread(file_.get(), into.data() + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

SegmentReader::Found SegmentReader::at(uint64_t offset, uint64_t end, bool check_body) {
  Found found;
  found.offset = offset;
  if (offset >= end) return found;
  const auto damage = [&](uint64_t next) {
    found.kind = Kind::damage;
    found.size = next - offset;
    return found;
  };
  if (end - offset < kRecordHeaderSize || !read(offset, kRecordHeaderSize, header_bytes_)) return damage(end);
  const auto header = parse_record_header(header_bytes_, id_);
  if (!header) return damage(next_record(offset + 8, end));
  found.header = *header;
  found.has_header = true;
  if (header->size() > end - offset) return damage(end);  // a crash interrupted the write
  const size_t wanted = check_body ? header->size() - kRecordHeaderSize : header->name_size;
  if (!read(offset + kRecordHeaderSize, wanted, body_)) return damage(offset + header->size());
  found.name = std::string_view(body_).substr(0, header->name_size);
  if (crc32c(found.name) != header->name_crc || (check_body && !body_is_valid(*header, body_)))
    return damage(offset + header->size());
  found.kind = Kind::record;
  found.size = header->size();
  if (check_body) found.payload = std::string_view(body_).substr(header->name_size, header->payload_size);
  return found;
}

// Reads chunks that overlap by the size of a header minus 8 bytes, so that each chunk contains complete headers.
uint64_t SegmentReader::next_record(uint64_t from, uint64_t end) const {
  static constexpr uint64_t kChunk = uint64_t{1} << 20;
  std::string chunk;
  for (uint64_t at = from; at + kRecordHeaderSize <= end; at += kChunk) {
    const uint64_t size = std::min(kChunk + kRecordHeaderSize - 8, end - at);
    if (!read(at, size, chunk)) continue;
    if (const size_t found = find_record(chunk, 0, id_); found < chunk.size()) return at + found;
  }
  return end;
}

std::string SegmentReader::raw(uint64_t offset, uint64_t size) const {
  std::string bytes;
  return read(offset, size, bytes) ? bytes : std::string();
}

}  // namespace atalaya::core
