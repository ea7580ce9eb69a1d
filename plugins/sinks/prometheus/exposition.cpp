// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/prometheus/exposition.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/text/json.h"
#include "plugins/shared/protocols/prometheus/legal_text.h"

namespace atalaya::prometheus {
namespace {

void append_value(std::string &out, const atalaya_field &field) {
  if (field.type == ATALAYA_I64) {
    core::append_integer(out, field.value.i64);
  } else if (std::isnan(field.value.f64)) {
    out += "NaN";
  } else if (std::isinf(field.value.f64)) {
    out += field.value.f64 > 0 ? "+Inf" : "-Inf";
  } else {
    core::append_number(out, field.value.f64);
  }
}

// Appends a timestamp: in milliseconds, or in seconds with three decimals in OpenMetrics.
void append_time(std::string &out, int64_t time_ns, Form form) {
  const int64_t ms = time_ns / 1'000'000;
  out += ' ';
  if (form == Form::text) return core::append_integer(out, ms);
  core::append_integer(out, ms / 1000);
  out += '.';
  out += static_cast<char>('0' + ms / 100 % 10);
  out += static_cast<char>('0' + ms / 10 % 10);
  out += static_cast<char>('0' + ms % 10);
}

std::string_view type_text(Type type, Form form) {
  switch (type) {
    case Type::gauge:
      return "gauge";
    case Type::counter:
      return "counter";
    case Type::unknown:
      break;
  }
  return form == Form::text ? "untyped" : "unknown";
}

// Appends the metadata of a metric. In both formats a counter's samples end with _total; in the text format its family does too.
// Only OpenMetrics has units.
void append_head(const Metric &metric, Form form, std::string &out) {
  const bool total = metric.type == Type::counter && form == Form::text;
  const auto line = [&](std::string_view word) {
    out.append("# ").append(word).append(" ").append(metric.family).append(total ? "_total " : " ");
  };
  line("HELP");
  if (form == Form::text) {
    append_help(out, metric.help);
  } else {
    append_escaped(out, metric.help);
  }
  out += '\n';
  line("TYPE");
  out.append(type_text(metric.type, form)).append("\n");
  if (form == Form::text || metric.unit.empty()) return;
  line("UNIT");
  out.append(metric.unit).append("\n");
}

}  // namespace

const char *content_type(Form form) {
  return form == Form::text ? "text/plain; version=0.0.4; charset=utf-8"
                            : "application/openmetrics-text; version=1.0.0; charset=utf-8";
}

// Groups the series by metric with a counting sort.
void Exposition::sort(const Snapshot &snapshot) {
  fresh_.clear();
  first_positions_.assign(snapshot.metrics.size() + 1, 0);
  for (uint32_t i = 0; i < snapshot.series.size(); ++i) {
    const Series &series = snapshot.series[i];
    if (series.entity == nullptr || !snapshot.streams[series.stream].is_fresh(series.stamp, staleness_, snapshot.now)) continue;
    fresh_.push_back(i);
    ++first_positions_[series.metric + 1];
  }
  std::partial_sum(first_positions_.begin(), first_positions_.end(), first_positions_.begin());
  order_.resize(fresh_.size());
  next_positions_ = first_positions_;
  for (const uint32_t i : fresh_) order_[next_positions_[snapshot.series[i].metric]++] = i;
  names_.resize(snapshot.metrics.size());
  std::iota(names_.begin(), names_.end(), 0U);
  std::sort(names_.begin(), names_.end(),
            [&](uint32_t a, uint32_t b) { return snapshot.metrics[a]->family < snapshot.metrics[b]->family; });
}

void Exposition::write(const Snapshot &snapshot, Form form, std::string &out) {
  sort(snapshot);
  for (const uint32_t index : names_) {
    if (first_positions_[index] == first_positions_[index + 1]) continue;
    const Metric &metric = *snapshot.metrics[index];
    append_head(metric, form, out);
    for (uint32_t i = first_positions_[index]; i < first_positions_[index + 1]; ++i)
      append_series(snapshot.series[order_[i]], metric, form, out);
  }
  if (form == Form::openmetrics) out += "# EOF\n";
}

void Exposition::append_series(const Series &series, const Metric &metric, Form form, std::string &out) const {
  out += metric.family;
  if (metric.type == Type::counter) out += "_total";
  if (!series.entity->labels.empty()) {
    out += '{';
    out += series.entity->labels;
    out += '}';
  }
  out += ' ';
  append_value(out, series.value);
  if (timestamps_) append_time(out, series.stamp.time_ns, form);
  out += '\n';
}

}  // namespace atalaya::prometheus
