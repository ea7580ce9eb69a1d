// SPDX-License-Identifier: Apache-2.0
#include "core/base/flat.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>

#include "core/base/crc32c.h"

namespace atalaya::core {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr char kMagic[4] = {'A', 'T', 'L', 'B'};
constexpr uint16_t kVersion = 1;

struct Header {
  char magic[4];
  uint16_t version, sample_layout;
  uint64_t size, names, samples, tags, fields, bytes;
  uint32_t header_crc, body_crc;
};
static_assert(sizeof(Header) == kFlatHeaderSize && offsetof(Header, header_crc) == 56);

struct FlatSample {
  uint32_t kind, tags, fields, text_size;
  int64_t time_ns, duration_ns;
};
static_assert(sizeof(FlatSample) == 32);

struct FlatTag {
  uint32_t name, value_size;
};

struct FlatField {
  uint32_t name, type;
  uint64_t value;
};
static_assert(sizeof(FlatTag) == 8 && sizeof(FlatField) == 16);

constexpr uint64_t aligned(uint64_t size) {
  return (size + 7) & ~uint64_t{7};
}

// The sum of a header's counts. False when that does not fit 64 bits.
bool size_of_record(const Header &header, uint64_t &size) {
  // No count can be near 2^64 / 32 in a record that exists.
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max() / 256;
  if (std::max({header.names, header.samples, header.tags, header.fields, header.bytes}) > kMost) return false;
  size = sizeof(Header) + aligned(header.names * sizeof(uint32_t)) + header.samples * sizeof(FlatSample) +
         header.tags * sizeof(FlatTag) + header.fields * sizeof(FlatField) + aligned(header.bytes);
  return true;
}

// Writes or reads one part after the other.
class Writer {
 public:
  explicit Writer(char *at) : at_(at) {}
  void put(const void *data, size_t size) {
    if (size > 0) std::memcpy(at_, data, size);
    at_ += size;
  }
  template <class T>
  void put(const T &value) {
    put(&value, sizeof(value));
  }
  void skip(size_t size) { at_ += size; }

 private:
  char *at_;
};

template <class T>
T value_at(const char *array, uint64_t index) {
  T value;
  std::memcpy(&value, array + index * sizeof(T), sizeof(T));
  return value;
}

Status counted(const atalaya_batch &batch, Header &header) {
  for (uint64_t i = 0; i < batch.count; ++i) {
    const atalaya_sample &sample = batch.samples[i];
    if (sample.kind > ATALAYA_SPAN) return Error{"a sample of the unknown kind " + std::to_string(sample.kind)};
    if (sample.tag_count > kFlatMaxTags || sample.field_count > kFlatMaxFields)
      return Error{"a sample with " + std::to_string(sample.tag_count) + " tags and " + std::to_string(sample.field_count) +
                   " fields; at most 65534 and 65535 can be stored"};
    uint64_t largest = sample.text.size;
    header.bytes += sample.text.size;
    for (uint32_t t = 0; t < sample.tag_count; ++t) {
      largest = std::max(largest, sample.tags[t].value.size);
      header.bytes += sample.tags[t].value.size;
    }
    if (largest > std::numeric_limits<uint32_t>::max())
      return Error{"a text of " + std::to_string(largest) + " bytes; at most 4 GiB"};
    for (uint32_t f = 0; f < sample.field_count; ++f)
      if (sample.fields[f].type > ATALAYA_I64) return Error{"a field of the unknown type " + std::to_string(sample.fields[f].type)};
    header.tags += sample.tag_count;
    header.fields += sample.field_count;
  }
  header.samples = batch.count;
  return Done{};
}

void put_strings(const atalaya_batch &batch, Writer &writer) {
  for (uint64_t i = 0; i < batch.count; ++i) {
    const atalaya_sample &sample = batch.samples[i];
    writer.put(sample.text.data, sample.text.size);
    for (uint32_t t = 0; t < sample.tag_count; ++t) writer.put(sample.tags[t].value.data, sample.tags[t].value.size);
  }
}

}  // namespace

void seal_flat(char *record, size_t size) {
  const uint32_t header_crc = crc32c({record, offsetof(Header, header_crc)});
  const uint32_t body_crc = crc32c({record + sizeof(Header), size - sizeof(Header)});
  std::memcpy(record + offsetof(Header, header_crc), &header_crc, sizeof(header_crc));
  std::memcpy(record + offsetof(Header, body_crc), &body_crc, sizeof(body_crc));
}

uint32_t FlatEncoder::position_of(uint32_t id) {
  uint32_t &position = positions_[id < positions_.size() ? id : 0];
  if (position == 0) {
    names_.push_back(id < positions_.size() ? id : 0);
    position = static_cast<uint32_t>(names_.size());
  }
  return position - 1;
}

Status FlatEncoder::append(const atalaya_batch &batch, const Symbols &symbols, std::string &out) {
  Header header{};
  if (Status status = counted(batch, header); !status.ok()) return status;

  for (const uint32_t id : names_) positions_[id] = 0;
  names_.clear();
  if (positions_.size() <= symbols.size()) positions_.resize(symbols.size() + size_t{1});
  for (uint64_t i = 0; i < batch.count; ++i) {
    const atalaya_sample &sample = batch.samples[i];
    for (uint32_t t = 0; t < sample.tag_count; ++t) position_of(sample.tags[t].key);
    for (uint32_t f = 0; f < sample.field_count; ++f) position_of(sample.fields[f].name);
  }
  for (const uint32_t id : names_) header.bytes += symbols.name(id).size();

  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kVersion;
  header.sample_layout = ATALAYA_SAMPLE_LAYOUT;
  header.names = names_.size();
  if (!size_of_record(header, header.size)) return Error{"a batch too large for one record"};

  const size_t begin = out.size();
  out.resize(begin + header.size);
  Writer writer(out.data() + begin);
  writer.put(header);
  for (const uint32_t id : names_) writer.put(static_cast<uint32_t>(symbols.name(id).size()));
  writer.skip(names_.size() % 2 * sizeof(uint32_t));
  for (uint64_t i = 0; i < batch.count; ++i) {
    const atalaya_sample &s = batch.samples[i];
    writer.put(FlatSample{s.kind, s.tag_count, s.field_count, static_cast<uint32_t>(s.text.size), s.time_ns, s.duration_ns});
  }
  for (uint64_t i = 0; i < batch.count; ++i) {
    const atalaya_sample &s = batch.samples[i];
    for (uint32_t t = 0; t < s.tag_count; ++t)
      writer.put(FlatTag{position_of(s.tags[t].key), static_cast<uint32_t>(s.tags[t].value.size)});
  }
  for (uint64_t i = 0; i < batch.count; ++i) {
    const atalaya_sample &s = batch.samples[i];
    for (uint32_t f = 0; f < s.field_count; ++f)
      writer.put(FlatField{position_of(s.fields[f].name), s.fields[f].type, std::bit_cast<uint64_t>(s.fields[f].value)});
  }
  for (const uint32_t id : names_) writer.put(symbols.name(id).data(), symbols.name(id).size());
  put_strings(batch, writer);
  seal_flat(out.data() + begin, header.size);
  return Done{};
}

Status encode_flat(const atalaya_batch &batch, const Symbols &symbols, std::string &out) {
  return FlatEncoder().append(batch, symbols, out);
}

namespace {

Error corrupt(const char *what) {
  return Error{std::string("corrupt record: ") + what};
}

// The parts of a record whose checksums and sizes have been checked.
struct Parts {
  const char *names, *samples, *tags, *fields, *bytes;
};

Parts parts_of(const char *record, const Header &header) {
  Parts parts{};
  parts.names = record + sizeof(Header);
  parts.samples = parts.names + aligned(header.names * sizeof(uint32_t));
  parts.tags = parts.samples + header.samples * sizeof(FlatSample);
  parts.fields = parts.tags + header.tags * sizeof(FlatTag);
  parts.bytes = parts.fields + header.fields * sizeof(FlatField);
  return parts;
}

bool all_zero(const char *from, const char *to) {
  return std::all_of(from, to, [](char byte) { return byte == 0; });
}

// Everything that the parts say agrees with the counts. Sums cannot overflow: at most 2^56 values of 32 bits.
const char *problem_of(const Header &header, const Parts &parts, const char *end) {
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < header.names; ++i) {
    const auto size = value_at<uint32_t>(parts.names, i);
    if (size > Symbols::kMaxNameSize) return "a name is too long";
    bytes += size;
  }
  uint64_t tags = 0;
  uint64_t fields = 0;
  for (uint64_t i = 0; i < header.samples; ++i) {
    const auto sample = value_at<FlatSample>(parts.samples, i);
    if (sample.kind > ATALAYA_SPAN) return "a sample's kind is unknown";
    if (sample.tags > kFlatMaxTags || sample.fields > kFlatMaxFields) return "a sample has too many tags or fields";
    tags += sample.tags;
    fields += sample.fields;
    bytes += sample.text_size;
  }
  if (tags != header.tags || fields != header.fields) return "its samples do not have as many tags and fields as it says";
  for (uint64_t i = 0; i < header.tags; ++i) {
    const auto tag = value_at<FlatTag>(parts.tags, i);
    if (tag.name >= header.names) return "a tag's name is not in its table";
    bytes += tag.value_size;
  }
  for (uint64_t i = 0; i < header.fields; ++i) {
    const auto field = value_at<FlatField>(parts.fields, i);
    if (field.name >= header.names) return "a field's name is not in its table";
    if (field.type > ATALAYA_I64) return "a field's type is unknown";
  }
  if (bytes != header.bytes) return "its strings are not as long as it says";
  const char *names_end = parts.names + header.names * sizeof(uint32_t);
  if (!all_zero(names_end, parts.samples) || !all_zero(parts.bytes + header.bytes, end)) return "a gap is not zero";
  return nullptr;
}

// Copies the checked parts into the batch's arena.
class Builder {
 public:
  Builder(const Header &header, const Parts &parts, Batch &into) : header_(header), parts_(parts), into_(into) {}

  bool intern_names(Symbols &symbols, std::vector<uint32_t> &ids) {
    ids.reserve(header_.names);
    const char *at = parts_.bytes;
    for (uint64_t i = 0; i < header_.names; ++i) {
      const auto size = value_at<uint32_t>(parts_.names, i);
      ids.push_back(symbols.intern({at, size}));
      if (ids.back() == 0 && size > 0) return false;
      at += size;
    }
    name_bytes_ = static_cast<uint64_t>(at - parts_.bytes);
    return true;
  }

  void build(const std::vector<uint32_t> &ids) {
    Arena &arena = into_.arena();
    next_text_ = into_.copy({parts_.bytes + name_bytes_, header_.bytes - name_bytes_}).data;
    auto *tags = static_cast<atalaya_tag *>(arena.allocate(header_.tags * sizeof(atalaya_tag)));
    auto *fields = static_cast<atalaya_field *>(arena.allocate(header_.fields * sizeof(atalaya_field)));
    const char *flat_tags = parts_.tags;
    into_.reserve_samples(header_.samples);
    for (uint64_t i = 0; i < header_.samples; ++i) {
      const auto flat = value_at<FlatSample>(parts_.samples, i);
      atalaya_sample &sample = into_.add_sample(flat.kind);
      sample.time_ns = flat.time_ns;
      sample.duration_ns = flat.duration_ns;
      sample.tag_count = flat.tags;
      sample.field_count = flat.fields;
      sample.tags = tags;
      sample.fields = fields;
      sample.text = text(flat.text_size);
      for (uint32_t t = 0; t < flat.tags; ++t) {
        const auto tag = value_at<FlatTag>(flat_tags, t);
        *tags++ = {ids[tag.name], 0, text(tag.value_size)};
      }
      flat_tags += flat.tags * sizeof(FlatTag);
      fields += flat.fields;
    }
    fields -= header_.fields;
    for (uint64_t i = 0; i < header_.fields; ++i) {
      const auto flat = value_at<FlatField>(parts_.fields, i);
      fields[i] = {ids[flat.name], flat.type, {}};
      fields[i].value.i64 = static_cast<int64_t>(flat.value);
    }
  }

 private:
  atalaya_str text(uint32_t size) {
    if (size == 0) return {nullptr, 0};
    const atalaya_str text{next_text_, size};
    next_text_ += size;
    return text;
  }

  const Header &header_;
  const Parts &parts_;
  Batch &into_;
  uint64_t name_bytes_ = 0;
  const char *next_text_ = nullptr;
};

}  // namespace

Result<Decoded> decode_flat(std::string_view bytes, Symbols &symbols, Batch &into) {
  if (!std::string_view(kMagic, sizeof(kMagic)).starts_with(bytes.substr(0, sizeof(kMagic))))
    return corrupt("it does not begin with ATLB");
  if (bytes.size() < sizeof(Header)) return Decoded{};
  const auto header = value_at<Header>(bytes.data(), 0);
  if (header.header_crc != crc32c(bytes.substr(0, offsetof(Header, header_crc)))) return corrupt("the header's checksum is wrong");
  if (header.version != kVersion || header.sample_layout != ATALAYA_SAMPLE_LAYOUT)
    return Error{"a record of format " + std::to_string(header.version) + "." + std::to_string(header.sample_layout) +
                 ", this version reads " + std::to_string(kVersion) + "." + std::to_string(ATALAYA_SAMPLE_LAYOUT) +
                 "; use the version of Atalaya that wrote it"};
  uint64_t size = 0;
  if (!size_of_record(header, size) || size != header.size) return corrupt("its counts do not add up to its size");
  if (bytes.size() < size) return Decoded{};
  const char *end = bytes.data() + size;
  if (header.body_crc != crc32c(bytes.substr(sizeof(Header), size - sizeof(Header)))) return corrupt("its checksum is wrong");

  const Parts parts = parts_of(bytes.data(), header);
  if (const char *problem = problem_of(header, parts, end); problem != nullptr) return corrupt(problem);
  Builder builder(header, parts, into);
  std::vector<uint32_t> ids;
  if (!builder.intern_names(symbols, ids)) return Error{"the table of names is full; the record was not read"};
  builder.build(ids);
  return Decoded{size, header.samples};
}

}  // namespace atalaya::core
