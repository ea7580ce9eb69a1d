// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/prometheus/snapshot_text.h"

#include <algorithm>
#include <numeric>

namespace atalaya::prometheus {

// Groups the series of a metric: counts them, then puts them in their places.
void SnapshotText::sort(const Snapshot &snapshot) {
  shown_.clear();
  begins_.assign(snapshot.metrics.size() + 1, 0);
  for (uint32_t i = 0; i < snapshot.series.size(); ++i) {
    const Series &series = snapshot.series[i];
    if (series.entity == nullptr || !snapshot.streams[series.stream].is_fresh(series.stamp, staleness_, snapshot.now)) continue;
    shown_.push_back(i);
    ++begins_[series.metric + 1];
  }
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  order_.resize(shown_.size());
  places_ = begins_;
  for (const uint32_t i : shown_) order_[places_[snapshot.series[i].metric]++] = i;
  names_.resize(snapshot.metrics.size());
  std::iota(names_.begin(), names_.end(), 0U);
  std::sort(names_.begin(), names_.end(),
            [&](uint32_t a, uint32_t b) { return snapshot.metrics[a]->family < snapshot.metrics[b]->family; });
}

void SnapshotText::write(const Snapshot &snapshot, Form form, std::string &out) {
  sort(snapshot);
  for (const uint32_t index : names_) {
    if (begins_[index] == begins_[index + 1]) continue;
    const Metric &metric = *snapshot.metrics[index];
    append_head(metric, form, out);
    for (uint32_t i = begins_[index]; i < begins_[index + 1]; ++i) {
      const Series &series = snapshot.series[order_[i]];
      append_series(metric, series.entity->labels, series.value, timestamps_ ? std::optional(series.stamp.time_ns) : std::nullopt,
                    form, out);
    }
  }
  append_end(form, out);
}

}  // namespace atalaya::prometheus
