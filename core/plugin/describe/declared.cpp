// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/describe/declared.h"

#include <cmath>

#include "core/base/sample/batch.h"
#include "core/plugin/registry.h"

namespace atalaya::core {

Declared::Declared(const atalaya_component &component) {
  const Strided<atalaya_metric> metrics(component.metrics, component.metric_count, component.metric_size);
  for (uint32_t i = 0; i < metrics.count(); ++i) {
    const atalaya_metric metric = metrics.at(i);
    Metric &entry = metrics_[text_of(metric.name)];
    entry.count = metric.decimals < 0;
    const Strided<atalaya_metric_tag> tags(metric.tags, metric.tag_count, metric.tag_size);
    for (uint32_t t = 0; t < tags.count(); ++t) entry.tags.emplace(view_of(tags.at(t).key));
    tags_.insert(entry.tags.begin(), entry.tags.end());
  }
}

std::set<std::string> Declared::differences(const atalaya_batch &batch, const Symbols &symbols,
                                            const std::set<std::string> &known) const {
  std::set<std::string> found;
  for (uint64_t i = 0; i < batch.count; ++i) {
    const atalaya_sample &sample = batch.samples[i];
    std::set<std::string> tags = known;
    tags.insert("host");                                                       // the engine adds it
    if (sample.kind == ATALAYA_SPAN) tags.insert(tags_.begin(), tags_.end());  // it may not have all fields yet
    for (uint32_t f = 0; f < sample.field_count; ++f) {
      const atalaya_field &field = sample.fields[f];
      const std::string name(symbols.name(field.name));
      if (field.type == ATALAYA_F64 && !std::isfinite(field.value.f64)) found.insert("field \"" + name + "\" is not a number");
      const auto metric = metrics_.find(name);
      if (metric == metrics_.end()) {
        if (known.count(name) == 0) found.insert("field \"" + name + "\" is not in its metric table");
        continue;
      }
      if (metric->second.count != (field.type == ATALAYA_I64))
        found.insert("field \"" + name + "\" is declared as a " + (metric->second.count ? "count" : "measurement") +
                     " and emitted as the other");
      tags.insert(metric->second.tags.begin(), metric->second.tags.end());
    }
    if (sample.kind == ATALAYA_SPAN && sample.field_count == 0) continue;  // the metric table has only fields
    for (uint32_t t = 0; t < sample.tag_count; ++t) {
      const std::string key(symbols.name(sample.tags[t].key));
      if (tags.count(key) == 0) found.insert("tag \"" + key + "\" is not declared for the fields of its sample");
    }
  }
  return found;
}

}  // namespace atalaya::core
