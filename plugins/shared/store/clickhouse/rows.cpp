// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/clickhouse/rows.h"

#include <Poco/SHA2Engine.h>

#include <cmath>
#include <cstring>
#include <utility>

#include "plugins/shared/store/clickhouse/conditions.h"
#include "plugins/shared/store/clickhouse/wire/row_binary.h"

namespace atalaya::store::clickhouse {
namespace {

constexpr size_t kMaxEntities = size_t{64} << 20;  // bytes of entities that are remembered
constexpr size_t kMaxSeries = 1'000'000;
constexpr uint32_t kNoMetric = 0;

template <class T>
void append_bytes(std::string &out, T value) {
  out.append(reinterpret_cast<const char *>(&value), sizeof(value));
}

std::string_view view(atalaya_str text) {
  return text.size == 0 ? std::string_view{} : std::string_view{text.data, text.size};
}

void append_value(std::string &out, const atalaya_field &field) {
  const bool is_count = field.type == ATALAYA_I64;
  append_number(out, is_count ? static_cast<double>(field.value.i64) : field.value.f64);
  append_number(out, is_count ? field.value.i64 : int64_t{0});
  append_number(out, static_cast<uint8_t>(is_count ? 1 : 0));
}

std::string columns_of(const Tags &tags) {
  std::string columns;
  append_length(columns, tags.size());
  for (const auto &[key, value] : tags) append_text(columns, key);
  append_length(columns, tags.size());
  for (const auto &[key, value] : tags) append_text(columns, value);
  return columns;
}

// Limits of a row, so that readers accept its lengths. Names have 4096 bytes at most, and a byte that is no UTF-8
// becomes three: a row stays below 64 MiB, and a text of it below 16.
constexpr size_t kMaxText = size_t{4} << 20;
constexpr uint32_t kMaxTags = 1024;
constexpr uint32_t kMaxFields = 2048;  // of a stack or a span; those of metrics are rows of their own
static_assert(3 * kMaxText <= kMaxTextLength && kMaxTags <= kMaxArrayLength && kMaxFields <= kMaxArrayLength);

bool has_room_for(const atalaya_sample &sample) {
  if (sample.tag_count > kMaxTags || (sample.kind != ATALAYA_METRICS && sample.field_count > kMaxFields)) return false;
  size_t size = sample.text.size;
  for (uint32_t i = 0; i < sample.tag_count; ++i) size += sample.tags[i].value.size;
  return size <= kMaxText;
}

}  // namespace

uint64_t number_of(std::string_view text) {
  Poco::SHA2Engine engine;
  engine.update(text.data(), text.size());
  uint64_t number = 0;
  std::memcpy(&number, engine.digest().data(), sizeof(number));
  return number;
}

uint64_t entity_of(const Tags &tags) {
  std::string text;
  for (const auto &[key, value] : tags) {
    append_text(text, key);
    append_text(text, value);
  }
  return number_of(text);
}

const char *Rows::add(const atalaya_sample &sample, size_t index, uint64_t version, Refused &refused) {
  if (sample.time_ns < 0 || sample.time_ns / kDayNs >= kDays)
    return "its time is before 1970 or after 2099, and the tables have no partition for it";
  if (!has_room_for(sample)) return "its text and tags are longer than 4 MiB, or it has more than 1024 tags or 2048 fields";
  const auto day = static_cast<uint16_t>(sample.time_ns / kDayNs);
  const std::string_view text = valid_utf8(view(sample.text), scratch_);
  if (sample.kind != ATALAYA_METRICS && (sample.kind != ATALAYA_STACK || text.empty()) && sample.kind != ATALAYA_SPAN)
    return ++refused.samples, "";
  const Entity &entity = sample_entity(sample);
  days_.insert(day);
  if (sample.kind == ATALAYA_METRICS) return add_points(sample, entity, day, index, version, refused), "";
  add_series(entity, kNoMetric, day, {0, 0, index, kAllFields});
  const bool is_stack = sample.kind == ATALAYA_STACK;
  TableRows &table = is_stack ? stacks : spans;
  std::string &out = table.bytes;
  const size_t begin = out.size();
  append_number(out, day);
  if (is_stack) {
    append_number(out, entity.number);
    append_number(out, number_of(text));
    append_number(out, sample.time_ns);
  } else {
    append_number(out, sample.time_ns);
    append_number(out, entity.number);
    append_text(out, text);
  }
  append_number(out, sample.duration_ns);
  out += entity.tags;
  if (is_stack) append_text(out, text);
  append_fields(out, sample, refused);
  append_number(out, version);
  table.places.push_back({begin, out.size(), index, kAllFields});
  return "";
}

void Rows::add_points(const atalaya_sample &sample, const Entity &entity, uint16_t day, size_t index, uint64_t version,
                      Refused &refused) {
  bool any = false;
  for (uint32_t i = 0; i < sample.field_count; ++i) {
    const std::string_view metric = metric_of(sample.fields[i]);
    if (metric.empty()) {
      ++refused.values;
      continue;
    }
    any = true;
    add_series(entity, sample.fields[i].name, day, {0, 0, index, i});
    std::string &out = points.bytes;
    const size_t begin = out.size();
    append_number(out, day);
    append_text(out, metric);
    append_number(out, entity.number);
    append_number(out, sample.time_ns);
    append_number(out, sample.duration_ns);
    append_value(out, sample.fields[i]);
    append_number(out, version);
    points.places.push_back({begin, out.size(), index, i});
  }
  if (!any) ++refused.samples;
}

void Rows::add_series(const Entity &entity, uint32_t metric, uint16_t day, RowPlace place) {
  const std::pair key(entity.number, metric);
  const auto known = written_series_.find(key);
  if (known != written_series_.end() && known->second == day) return;
  const auto [under_way, is_new] = announcing_.try_emplace(key, day);
  if (!is_new && std::exchange(under_way->second, day) == day) return;
  std::string &out = series.bytes;
  place.begin = out.size();
  append_number(out, day);
  append_text(out, metric == kNoMetric ? std::string_view{} : valid_utf8(name_of_(metric), name_scratch_));
  append_number(out, entity.number);
  out += entity.tags;
  place.end = out.size();
  series.places.push_back(place);
}

std::string_view Rows::metric_of(const atalaya_field &field) {
  if (field.type != ATALAYA_I64 && !std::isfinite(field.value.f64)) return {};
  return valid_utf8(name_of_(field.name), name_scratch_);
}

void Rows::append_fields(std::string &out, const atalaya_sample &sample, Refused &refused) {
  std::string names;
  std::string values;
  std::string counts;
  std::string flags;
  uint64_t size = 0;
  for (uint32_t i = 0; i < sample.field_count; ++i) {
    const std::string_view name = metric_of(sample.fields[i]);
    if (name.empty()) {
      ++refused.values;
      continue;
    }
    ++size;
    append_text(names, name);
    const bool is_count = sample.fields[i].type == ATALAYA_I64;
    append_number(values, is_count ? static_cast<double>(sample.fields[i].value.i64) : sample.fields[i].value.f64);
    append_number(counts, is_count ? sample.fields[i].value.i64 : int64_t{0});
    append_number(flags, static_cast<uint8_t>(is_count ? 1 : 0));
  }
  for (const std::string *column : {&names, &values, &counts, &flags}) {
    append_length(out, size);
    out += *column;
  }
}

const Rows::Entity &Rows::sample_entity(const atalaya_sample &sample) {
  key_.clear();
  for (uint32_t i = 0; i < sample.tag_count; ++i) {
    append_bytes(key_, sample.tags[i].key);
    append_text(key_, view(sample.tags[i].value));
  }
  const auto found = entities_.find(key_);
  if (found != entities_.end()) return found->second;
  if (entities_size_ >= kMaxEntities) entities_.clear(), entities_size_ = 0;
  Tags tags;
  std::string value_scratch;
  for (uint32_t i = 0; i < sample.tag_count; ++i) {
    const std::string_view key = valid_utf8(name_of_(sample.tags[i].key), name_scratch_);
    if (key.empty()) continue;
    tags.insert_or_assign(std::string(key), std::string(valid_utf8(view(sample.tags[i].value), value_scratch)));
  }
  constexpr size_t kOverhead = 128;
  const Entity &entity = entities_.emplace(key_, Entity{entity_of(tags), columns_of(tags)}).first->second;
  entities_size_ += key_.size() + entity.tags.size() + kOverhead;
  return entity;
}

void Rows::clear() {
  for (TableRows *table : {&series, &points, &stacks, &spans}) table->clear();
  days_.clear();
  announcing_.clear();
}

void Rows::mark_series_written() {
  if (written_series_.size() >= kMaxSeries) written_series_.clear();
  for (const auto &[key, day] : announcing_) written_series_[key] = day;
  announcing_.clear();
}

void Rows::forget() {
  written_series_.clear();
  announcing_.clear();
}

}  // namespace atalaya::store::clickhouse
