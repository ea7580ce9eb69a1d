// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/btrace/record_builder.h"

#include "plugins/shared/io/samples/metric_name.h"

namespace atalaya::btrace {

void RecordBuilder::begin_batch(atalaya_batch *batch, int64_t time_ns) {
  batch_ = std::make_unique<Batch>(host_, batch);
  time_ns_ = time_ns;
}

uint32_t RecordBuilder::id_of(std::string_view name) {
  if (const auto known = ids_.find(name); known != ids_.end()) return known->second;
  if (ids_.size() >= max_names_) {
    names_full_ = true;
    return 0;
  }
  std::string clean;
  io::append_metric_name(clean, name);
  const uint32_t id = host_.intern(clean);
  ids_.emplace(name, id);
  return id;
}

// Declares a metric whose name is known at run time only. The type of its first value decides the decimals.
void RecordBuilder::declare(uint32_t field, std::string_view name, bool is_count) {
  if (!declared_.insert(field).second || host_.metric(field)) return;
  std::string clean;
  io::append_metric_name(clean, name);
  host_.declare(metric::gauge(clean, "1", is_count ? metric::count : 9, {}, "output of a script", "Field of a script"));
}

void RecordBuilder::add(const Record &record) {
  Sample &sample = batch_->add(record.kind, static_cast<uint32_t>(record.tags.size()), static_cast<uint32_t>(record.fields.size()));
  sample.time_ns = record.time_ns != 0 ? record.time_ns : time_ns_;
  ++time_ns_;
  sample.duration_ns = record.duration_ns;
  sample.text = batch_->copy(record.text);
  // Without a tag two series could merge, so the sample is dropped.
  bool whole = true;
  for (const auto &[key, value] : record.tags) {
    const uint32_t id = id_of(key);
    whole = whole && id != 0;
    if (id != 0) batch_->tag(sample, id, value);
  }
  for (const auto &[name, number] : record.fields) {
    const uint32_t id = id_of(name);
    if (id == 0) continue;
    declare(id, name, number.is_count);
    if (number.is_count) {
      batch_->field(sample, id, number.count);
    } else {
      batch_->field(sample, id, number.value);
    }
  }
  const bool empty = sample.field_count == 0 && record.kind == ATALAYA_METRICS;
  if (whole && !empty) return;
  batch_->truncate(samples() - 1);
  host_.dropped("more than max_names", 1);
}

}  // namespace atalaya::btrace
