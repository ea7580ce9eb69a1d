// SPDX-License-Identifier: Apache-2.0
#include "core/base/encode/flat.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>

#include "core/base/encode/crc32c.h"

namespace atalaya::core {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr char kMagic[4] = {'A', 'T', 'L', 'B'};
constexpr uint16_t kVersion = 2;

struct Header {
  char magic[4];
  uint16_t version, sample_layout;
  uint64_t size, names, samples, tags, fields, bytes, metrics;
  uint32_t header_crc, body_crc;
};
static_assert(sizeof(Header) == kFlatHeaderSize && offsetof(Header, header_crc) == 64);

struct FlatMetric {
  uint32_t name, kind;
  int32_t decimals;
  uint32_t unit_size, summary_size, source_size;
};
static_assert(sizeof(FlatMetric) == 24);

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

// Adds the counts of a header. False if the sum exceeds 64 bits.
bool size_of_record(const Header &header, uint64_t &size) {
  // No count can be near 2^64 / 32 in a record that exists.
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max() / 256;
  if (std::max({header.names, header.samples, header.tags, header.fields, header.bytes, header.metrics}) > kMost) return false;
  size = sizeof(Header) + aligned(header.names * sizeof(uint32_t)) + header.metrics * sizeof(FlatMetric) +
         header.samples * sizeof(FlatSample) + header.tags * sizeof(FlatTag) + header.fields * sizeof(FlatField) +
         aligned(header.bytes);
  return true;
}

// Writes or reads the parts in their order.
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
  if (id > Symbols::kMaxNames) id = 0;
  if (positions_.size() <= id) positions_.resize(std::max<size_t>(id + size_t{1}, positions_.size() * 2));
  uint32_t &position = positions_[id];
  if (position == 0) {
    names_.push_back(id);
    position = static_cast<uint32_t>(names_.size());
  }
  return position - 1;
}

void FlatEncoder::collect_names(const atalaya_batch &batch) {
  for (const uint32_t id : names_) positions_[id] = 0;
  names_.clear();
  for (uint64_t i = 0; i < batch.count; ++i) {
    const atalaya_sample &sample = batch.samples[i];
    for (uint32_t t = 0; t < sample.tag_count; ++t) position_of(sample.tags[t].key);
    for (uint32_t f = 0; f < sample.field_count; ++f) position_of(sample.fields[f].name);
  }
}

void FlatEncoder::collect_metrics(const NameTable &symbols) {
  metrics_.clear();
  complete_ = true;
  for (uint32_t position = 0; position < names_.size(); ++position) {
    const uint32_t id = names_[position];
    const bool sent = id < sent_.size() && sent_[id];
    const atalaya_metric_info *info = sent ? nullptr : symbols.metric(id);
    if (sent) complete_ = false;
    if (info != nullptr) metrics_.push_back({position, info});
  }
}

Status FlatEncoder::append(const atalaya_batch &batch, const NameTable &symbols, std::string &out) {
  Header header{};
  if (Status status = counted(batch, header); !status.ok()) return status;
  collect_names(batch);
  collect_metrics(symbols);
  for (const uint32_t id : names_) header.bytes += symbols.name(id).size();
  for (const Metric &metric : metrics_)
    header.bytes += metric.info->unit.size + metric.info->summary.size + metric.info->source.size;

  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kVersion;
  header.sample_layout = ATALAYA_SAMPLE_LAYOUT;
  header.names = names_.size();
  header.metrics = metrics_.size();
  if (!size_of_record(header, header.size)) return Error{"a batch too large for one record"};

  const size_t begin = out.size();
  out.resize(begin + header.size);
  Writer writer(out.data() + begin);
  writer.put(header);
  for (const uint32_t id : names_) writer.put(static_cast<uint32_t>(symbols.name(id).size()));
  writer.skip(names_.size() % 2 * sizeof(uint32_t));
  for (const auto &[position, info] : metrics_)
    writer.put(FlatMetric{position, info->kind, info->decimals, static_cast<uint32_t>(info->unit.size),
                          static_cast<uint32_t>(info->summary.size), static_cast<uint32_t>(info->source.size)});
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
  for (const Metric &metric : metrics_)
    for (const atalaya_str &text : {metric.info->unit, metric.info->summary, metric.info->source}) writer.put(text.data, text.size);
  put_strings(batch, writer);
  seal_flat(out.data() + begin, header.size);
  for (const Metric &metric : metrics_) {
    const uint32_t id = names_[metric.position];
    if (sent_.size() <= id) sent_.resize(positions_.size());
    sent_[id] = true;
  }
  return Done{};
}

bool is_encodable(const atalaya_sample &sample) {
  atalaya_sample copy = sample;
  const atalaya_batch one{sizeof(atalaya_batch), sizeof(atalaya_sample), 1, &copy, nullptr};
  Header header{};
  return counted(one, header).ok();
}

Status encode_flat(const atalaya_batch &batch, const NameTable &symbols, std::string &out) {
  return FlatEncoder().append(batch, symbols, out);
}

namespace {

Error corrupt(const char *what) {
  return Error{std::string("corrupt record: ") + what};
}

// The parts of a record with valid checksums and sizes.
struct Parts {
  const char *names, *metrics, *samples, *tags, *fields, *bytes;
};

Parts parts_of(const char *record, const Header &header) {
  Parts parts{};
  parts.names = record + sizeof(Header);
  parts.metrics = parts.names + aligned(header.names * sizeof(uint32_t));
  parts.samples = parts.metrics + header.metrics * sizeof(FlatMetric);
  parts.tags = parts.samples + header.samples * sizeof(FlatSample);
  parts.fields = parts.tags + header.tags * sizeof(FlatTag);
  parts.bytes = parts.fields + header.fields * sizeof(FlatField);
  return parts;
}

bool all_zero(const char *from, const char *to) {
  return std::all_of(from, to, [](char byte) { return byte == 0; });
}

// Whether the parts agree with the counts of the header. Sums cannot overflow: they have at most 2^56 values of 32 bits.
const char *problem_of(const Header &header, const Parts &parts, const char *end) {
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < header.names; ++i) {
    const auto size = value_at<uint32_t>(parts.names, i);
    if (size > Symbols::kMaxNameSize) return "a name is too long";
    bytes += size;
  }
  for (uint64_t i = 0; i < header.metrics; ++i) {
    const auto metric = value_at<FlatMetric>(parts.metrics, i);
    if (metric.name >= header.names) return "a metric's name is not in its table";
    if (i > 0 && metric.name <= value_at<FlatMetric>(parts.metrics, i - 1).name) return "its metrics are not in order";
    if (metric.kind < ATALAYA_GAUGE || metric.kind > ATALAYA_TOTAL) return "a metric's kind is unknown";
    if (metric.decimals < -1 || metric.decimals > kMaxDecimals) return "a metric has decimals outside of -1 to 9";
    if (std::max({metric.unit_size, metric.summary_size, metric.source_size}) > Catalogue::kMaxText)
      return "a metric's text is too long";
    bytes += uint64_t{metric.unit_size} + metric.summary_size + metric.source_size;
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
  if (!all_zero(names_end, parts.metrics) || !all_zero(parts.bytes + header.bytes, end)) return "a gap is not zero";
  return nullptr;
}

// Calls take(position, name) for each name and returns the end of their bytes.
template <class Callback>
const char *each_name(const Header &header, const Parts &parts, Callback &&take) {
  const char *at = parts.bytes;
  for (uint64_t i = 0; i < header.names; ++i) {
    const auto size = value_at<uint32_t>(parts.names, i);
    take(i, std::string_view(at, size));
    at += size;
  }
  return at;
}

// Calls take(position of its name, info) for each metric, whose texts begin there, and returns their end.
template <class Callback>
const char *each_metric(const Header &header, const Parts &parts, const char *at, Callback &&take) {
  const auto text = [&at](uint32_t size) {
    const atalaya_str found{at, size};
    at += size;
    return found;
  };
  for (uint64_t i = 0; i < header.metrics; ++i) {
    const auto flat = value_at<FlatMetric>(parts.metrics, i);
    const atalaya_str unit = text(flat.unit_size);
    const atalaya_str summary = text(flat.summary_size);
    take(flat.name,
         atalaya_metric_info{sizeof(atalaya_metric_info), flat.kind, flat.decimals, 0, unit, summary, text(flat.source_size)});
  }
  return at;
}

// Copies the checked parts into the batch's arena.
class Builder {
 public:
  Builder(const Header &header, const Parts &parts, Batch &into) : header_(header), parts_(parts), into_(into) {}

  bool intern_names(NameTable &symbols, std::vector<uint32_t> &ids) {
    ids.reserve(header_.names);
    bool all = true;
    const char *at = each_name(header_, parts_, [&](uint64_t, std::string_view name) {
      ids.push_back(all ? symbols.intern(name) : 0);
      all = all && (ids.back() != 0 || name.empty());
    });
    if (!all) return false;
    at = each_metric(header_, parts_, at, [&](uint32_t name, const atalaya_metric_info &info) {
      symbols.declare(symbols.name(ids[name]), info, "a record");
    });
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

// Checks the record at the start of `bytes`; false: truncated.
Result<bool> parse(std::string_view bytes, Header &header, Parts &parts) {
  if (!std::string_view(kMagic, sizeof(kMagic)).starts_with(bytes.substr(0, sizeof(kMagic))))
    return corrupt("it does not begin with ATLB");
  if (bytes.size() < sizeof(Header)) return false;
  header = value_at<Header>(bytes.data(), 0);
  if (header.header_crc != crc32c(bytes.substr(0, offsetof(Header, header_crc)))) return corrupt("the header's checksum is wrong");
  if (header.version != kVersion || header.sample_layout != ATALAYA_SAMPLE_LAYOUT)
    return Error{"a record of format " + std::to_string(header.version) + "." + std::to_string(header.sample_layout) +
                 ", this version reads " + std::to_string(kVersion) + "." + std::to_string(ATALAYA_SAMPLE_LAYOUT) +
                 "; use the version of Atalaya that wrote it"};
  uint64_t size = 0;
  if (!size_of_record(header, size) || size != header.size) return corrupt("its counts do not add up to its size");
  if (bytes.size() < size) return false;
  const char *end = bytes.data() + size;
  if (header.body_crc != crc32c(bytes.substr(sizeof(Header), size - sizeof(Header)))) return corrupt("its checksum is wrong");

  parts = parts_of(bytes.data(), header);
  if (const char *problem = problem_of(header, parts, end); problem != nullptr) return corrupt(problem);
  return true;
}

}  // namespace

Result<Decoded> decode_flat(std::string_view bytes, NameTable &symbols, Batch &into) {
  Header header{};
  Parts parts{};
  const auto whole = parse(bytes, header, parts);
  if (!whole) return Error{whole.error()};
  if (!whole.value()) return Decoded{};
  Builder builder(header, parts, into);
  std::vector<uint32_t> ids;
  if (!builder.intern_names(symbols, ids)) return Error{"the table of names is full; the record was not read"};
  builder.build(ids);
  return Decoded{header.size, header.samples};
}

Result<FlatRecord> FlatRecord::read(std::string_view bytes) {
  Header header{};
  Parts parts{};
  const auto whole = parse(bytes, header, parts);
  if (!whole) return Error{whole.error()};
  FlatRecord record;
  if (!whole.value()) return record;
  record.bytes_ = bytes.substr(0, header.size);
  record.samples_ = header.samples;
  record.names_.reserve(header.names);
  record.metrics_.reserve(header.metrics);
  const char *at = each_name(header, parts, [&](uint64_t, std::string_view name) { record.names_.push_back(name); });
  each_metric(header, parts, at, [&](uint32_t name, const atalaya_metric_info &info) { record.metrics_.push_back({name, info}); });
  return record;
}

void FlatRecord::for_each_sample(const std::function<void(const Sample &)> &take) const {
  if (bytes_.empty()) return;
  const auto header = value_at<Header>(bytes_.data(), 0);
  const Parts parts = parts_of(bytes_.data(), header);
  const char *text = each_metric(header, parts, each_name(header, parts, [](uint64_t, std::string_view) {}),
                                 [](uint32_t, const atalaya_metric_info &) {});
  const auto next_text = [&text](uint32_t size) {
    const std::string_view found(text, size);
    text += size;
    return found;
  };
  std::vector<Tag> tags;
  std::vector<Field> fields;
  uint64_t tag_at = 0;
  uint64_t field_at = 0;
  for (uint64_t i = 0; i < header.samples; ++i) {
    const auto flat = value_at<FlatSample>(parts.samples, i);
    const std::string_view sample_text = next_text(flat.text_size);
    tags.clear();
    fields.clear();
    for (uint32_t t = 0; t < flat.tags; ++t) {
      const auto tag = value_at<FlatTag>(parts.tags, tag_at++);
      tags.push_back({tag.name, next_text(tag.value_size)});
    }
    for (uint32_t f = 0; f < flat.fields; ++f) {
      const auto field = value_at<FlatField>(parts.fields, field_at++);
      fields.push_back({field.name, field.type, field.value});
    }
    take({flat.kind, flat.time_ns, flat.duration_ns, sample_text, tags, fields});
  }
}

bool declare_flat(std::string_view bytes, NameTable &symbols) {
  auto record = FlatRecord::read(bytes);
  if (!record || record->size() == 0) return false;
  for (const FlatRecord::Metric &metric : record->metrics()) symbols.declare(record->names()[metric.name], metric.info, "a record");
  return true;
}

}  // namespace atalaya::core
