// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/receive/sample_builder.h"

#include <algorithm>

namespace atalaya::receive {
namespace {

constexpr size_t kFirstTable = 1024;
constexpr size_t kKeptTable = 65536;
constexpr uint32_t kMaxFields = 4096;  // of one sample

uint64_t mix(uint64_t hash, uint64_t value) {
  return (hash ^ value) * 0x9e3779b97f4a7c15u + (hash >> 29);
}

}  // namespace

void SampleBuilder::begin_batch(atalaya_batch *raw) {
  batch_.emplace(host_, raw);
}

void SampleBuilder::begin_request(const SenderPtr &sender, int64_t now_ns) {
  sender_ = sender;
  now_ns_ = now_ns;
  names_.expire(now_ns);
  first_sample_ = batch_->samples().size();
  last_tags_.clear();
  last_fields_.clear();
  if (table_.size() > kKeptTable || table_.empty()) {
    table_.assign(kFirstTable, Slot{});
    table_.shrink_to_fit();
  } else if (table_entries_ > 0) {
    std::fill(table_.begin(), table_.end(), Slot{});
  }
  table_entries_ = 0;
}

void SampleBuilder::undo_request() {
  batch_->truncate(first_sample_);
}

uint32_t SampleBuilder::id_of(std::string_view name) {
  if (const uint32_t known = names_.find(name, sender_, now_ns_); known != 0) return known;
  return name.size() <= kMaxName && names_.permits(sender_.get()) ? add_name(name) : 0;
}

uint32_t SampleBuilder::id_of(std::string_view name, std::vector<KnownName> &last, size_t place) {
  if (place >= last.size()) last.resize(place + 1);
  KnownName &known = last[place];
  if (known.id == 0 || known.name != name) {
    known.id = id_of(name);
    known.name = known.id == 0 ? std::string_view() : host_.name_of(known.id);
  }
  return known.id;
}

uint32_t SampleBuilder::add_name(std::string_view name) {
  const uint32_t id = host_.intern(name);
  if (id != 0) names_.add(host_.name_of(id), id, sender_, now_ns_);
  return id;
}

// The first declaration of a name is used; the host counts and logs conflicting ones. Limits apply as to the names of samples.
bool SampleBuilder::declare(std::string_view name, const atalaya_metric_info &info) {
  const uint32_t id = name.empty() ? 0 : id_of(name);
  if (id == 0) return true;
  const auto known = host_.metric(id);
  if (known && known->kind == info.kind && known->decimals == info.decimals && known->unit == view(info.unit)) return true;
  host_.declare({.name = str(name),
                 .unit = info.unit,
                 .kind = info.kind,
                 .decimals = info.decimals,
                 .source = info.source,
                 .summary = info.summary});
  return !known || known->kind == info.kind;
}

bool SampleBuilder::intern(const protocols::Record &record) {
  tag_ids_.clear();
  field_ids_.clear();
  for (size_t i = 0; i < record.tags.size(); ++i) tag_ids_.push_back(id_of(record.tags[i].key, last_tags_, i));
  for (size_t i = 0; i < record.fields.size(); ++i) field_ids_.push_back(id_of(record.fields[i].name, last_fields_, i));
  const auto known = [](uint32_t id) { return id != 0; };
  return std::all_of(tag_ids_.begin(), tag_ids_.end(), known) && std::all_of(field_ids_.begin(), field_ids_.end(), known);
}

bool SampleBuilder::take(const protocols::Record &record) {
  if (record.tags.size() > 0xfff0 || record.fields.size() > 0xfff0 || !intern(record)) return false;
  uint64_t entity = record.kind;
  for (size_t i = 0; i < record.tags.size(); ++i)
    entity = mix(mix(entity, tag_ids_[i]), std::hash<std::string_view>()(record.tags[i].value));
  count_series(record, entity);
  if (!record.point) {
    add_sample(record);
    return true;
  }
  const uint64_t hash = mix(entity, static_cast<uint64_t>(record.time_ns));
  size_t slot = 0;
  if (Sample *sample = find(record, hash, slot); sample != nullptr) {
    put_field(*sample, field_ids_[0], record.fields[0]);
    return true;
  }
  add_sample(record);
  table_[slot] = {hash, batch_->samples().size()};
  if (++table_entries_ * 2 > table_.size()) grow_table();
  return true;
}

// A field of an entity is a series; so is a stack or a kind of span.
void SampleBuilder::count_series(const protocols::Record &record, uint64_t entity) {
  if (sender_ == nullptr) return;
  if (record.kind != ATALAYA_METRICS) return sender_->series.add(mix(entity, std::hash<std::string_view>()(record.text)));
  for (const uint32_t field : field_ids_) sender_->series.add(mix(entity, field));
}

void SampleBuilder::add_sample(const protocols::Record &record) {
  constexpr uint32_t kUsualFields = 8;  // points usually come in groups
  const auto tags = static_cast<uint32_t>(record.tags.size());
  const auto fields = static_cast<uint32_t>(record.fields.size());
  Sample &sample = batch_->add(record.kind, tags, record.point ? kUsualFields : fields);
  sample.time_ns = record.time_ns;
  sample.duration_ns = record.duration_ns;
  sample.text = batch_->copy(record.text);
  for (uint32_t i = 0; i < tags; ++i) batch_->tag(sample, tag_ids_[i], record.tags[i].value);
  for (uint32_t i = 0; i < fields; ++i) put_field(sample, field_ids_[i], record.fields[i]);
}

void SampleBuilder::put_field(Sample &sample, uint32_t name, const protocols::RecordField &field) {
  atalaya_field made{name, field.type, {}};
  if (field.type == ATALAYA_I64) {
    made.value.i64 = field.i64;
  } else {
    made.value.f64 = field.f64;
  }
  // The same series at the same time: the last value wins, as in every store.
  for (uint32_t i = 0; i < sample.field_count; ++i) {
    if (sample.fields[i].name != name) continue;
    sample.fields[i] = made;
    return;
  }
  batch_->put(sample, made);
}

Sample *SampleBuilder::find(const protocols::Record &record, uint64_t hash, size_t &slot) {
  const size_t mask = table_.size() - 1;
  for (slot = hash & mask; table_[slot].sample != 0; slot = (slot + 1) & mask) {
    if (table_[slot].hash != hash) continue;
    Sample &sample = batch_->samples()[table_[slot].sample - 1];
    if (sample.field_count < kMaxFields && same_entity(sample, record)) return &sample;
  }
  return nullptr;
}

bool SampleBuilder::same_entity(const Sample &sample, const protocols::Record &record) const {
  if (sample.time_ns != record.time_ns || sample.tag_count != record.tags.size()) return false;
  for (uint32_t i = 0; i < sample.tag_count; ++i)
    if (sample.tags[i].key != tag_ids_[i] || view(sample.tags[i].value) != record.tags[i].value) return false;
  return true;
}

void SampleBuilder::grow_table() {
  std::vector<Slot> old(table_.size() * 2);
  old.swap(table_);
  const size_t mask = table_.size() - 1;
  for (const Slot &entry : old) {
    if (entry.sample == 0) continue;
    size_t slot = entry.hash & mask;
    while (table_[slot].sample != 0) slot = (slot + 1) & mask;
    table_[slot] = entry;
  }
}

}  // namespace atalaya::receive
