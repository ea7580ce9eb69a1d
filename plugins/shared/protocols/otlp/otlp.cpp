// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/otlp/otlp.h"

#include <algorithm>
#include <protozero/pbf_writer.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/sample/span_end.h"
#include "plugins/shared/protocols/otlp/otlp_common.h"
#include "plugins/shared/protocols/otlp/otlp_names.h"

namespace atalaya::protocols {
namespace {

using protozero::pbf_tag_type;
using protozero::pbf_writer;

// Field numbers of opentelemetry-proto.
namespace metric = otlp::metric;
namespace number = otlp::number;
namespace span {
constexpr pbf_tag_type kTrace = 1, kId = 2, kName = 5, kKind = 6, kStart = 7, kEnd = 8, kAttribute = 9;
constexpr int32_t kInternal = 1;
}  // namespace span

constexpr double kNanosPerSecond = 1e9;

class OtlpMetrics final : public MessageEncoder {
 public:
  OtlpMetrics(const core::NameOf &name_of, MetricOf metric_of) : entity_(name_of), metric_of_(std::move(metric_of)) {}

  Rejected rejected(std::string_view answer) const override { return otlp::rejected(answer); }

  std::string_view append(const atalaya_sample &sample, std::string &out) override {
    if (sample.kind != ATALAYA_METRICS) return "OTLP metrics have no form for stacks and spans";
    collect(sample);
    if (points_.empty()) return "has no metric with a name";
    bytes_.clear();
    pbf_writer resource_metrics(bytes_);
    entity_.add_resource(resource_metrics, sample);
    {
      pbf_writer scope_metrics(resource_metrics, otlp::kScopes);
      otlp::add_scope(scope_metrics);
      for (size_t first = 0; first < points_.size();) first = add_metric(scope_metrics, sample, first);
    }
    pbf_writer(out).add_message(otlp::kRequestResource, bytes_);
    return {};
  }

 private:
  struct Known {
    std::string_view name, unit, summary;  // as sent
    uint32_t kind = 0;                     // ATALAYA_GAUGE ...; 0: no declaration
    const OtlpMetric *mapped = nullptr;
  };
  struct Point {
    const Known *metric;
    const atalaya_field *field;
  };

  const Known *known(uint32_t id) {
    if (const auto found = metrics_.find(id); found != metrics_.end()) return &found->second;
    const std::string_view text = entity_.name(id);
    if (text.empty()) return nullptr;
    Known &entry = metrics_[id];
    entry.name = text;
    if (const auto info = metric_of_(id)) {
      entry.kind = info->kind;
      entry.unit = info->unit;
      entry.summary = info->summary;
    }
    entry.mapped = otlp_metric(text);
    return &entry;
  }

  // A rate without a window has no amount: it keeps its own name.
  static bool is_mapped(const Known &metric, const atalaya_sample &sample) {
    return metric.mapped != nullptr && (metric.mapped->shape == OtlpMetric::Shape::gauge || sample.duration_ns > 0);
  }
  static std::string_view sent_name(const Known &metric, const atalaya_sample &sample) {
    return is_mapped(metric, sample) ? metric.mapped->otlp : metric.name;
  }

  // The points of one metric are together.
  void collect(const atalaya_sample &sample) {
    points_.clear();
    for (uint32_t i = 0; i < sample.field_count; ++i)
      if (const Known *metric = known(sample.fields[i].name)) points_.push_back({metric, &sample.fields[i]});
    std::stable_sort(points_.begin(), points_.end(),
                     [&](const Point &a, const Point &b) { return sent_name(*a.metric, sample) < sent_name(*b.metric, sample); });
  }

  size_t add_metric(pbf_writer &out, const atalaya_sample &sample, size_t first) {
    const Known &head = *points_[first].metric;
    const std::string_view name = sent_name(head, sample);
    size_t last = first;
    while (last < points_.size() && sent_name(*points_[last].metric, sample) == name) ++last;
    const bool mapped = is_mapped(head, sample);
    const std::string_view unit = mapped ? head.mapped->unit : head.unit;
    pbf_writer written(out, otlp::kScopeItem);
    otlp::add_text(written, metric::kName, name);
    if (!mapped && !head.summary.empty()) otlp::add_text(written, metric::kDescription, head.summary);
    if (!unit.empty()) otlp::add_text(written, metric::kUnit, unit);
    const int32_t temporality = temporality_of(head, mapped);
    pbf_writer data(written, temporality == 0 ? metric::kGauge : metric::kSum);
    for (size_t i = first; i < last; ++i) add_point(data, sample, points_[i], mapped, temporality);
    if (temporality != 0) {
      data.add_enum(otlp::data::kTemporality, temporality);
      data.add_bool(otlp::data::kMonotonic, true);
    }
    return last;
  }

  // 0: no sum.
  static int32_t temporality_of(const Known &known, bool mapped) {
    if (mapped && known.mapped->shape == OtlpMetric::Shape::amount) return otlp::data::kDelta;
    if (known.kind == ATALAYA_DELTA) return otlp::data::kDelta;
    return known.kind == ATALAYA_TOTAL ? otlp::data::kCumulative : 0;
  }

  void add_point(pbf_writer &out, const atalaya_sample &sample, const Point &point, bool mapped, int32_t temporality) const {
    pbf_writer written(out, otlp::data::kPoint);
    if (temporality == otlp::data::kDelta && sample.duration_ns > 0)
      written.add_fixed64(otlp::point::kStart, static_cast<uint64_t>(sample.time_ns) - static_cast<uint64_t>(sample.duration_ns));
    written.add_fixed64(otlp::point::kTime, static_cast<uint64_t>(sample.time_ns));
    const OtlpMetric *map = mapped ? point.metric->mapped : nullptr;
    const bool exact = map == nullptr || (map->factor == 1 && map->shape == OtlpMetric::Shape::gauge);
    if (point.field->type == ATALAYA_I64 && exact) {
      written.add_sfixed64(number::kAsInteger, point.field->value.i64);
    } else {
      double value = point.field->type == ATALAYA_I64 ? static_cast<double>(point.field->value.i64) : point.field->value.f64;
      if (map != nullptr) value *= map->factor;
      if (map != nullptr && map->shape == OtlpMetric::Shape::amount)
        value *= static_cast<double>(sample.duration_ns) / kNanosPerSecond;
      written.add_double(number::kAsDouble, value);
    }
    if (map != nullptr && !map->attribute.empty()) otlp::add_attribute(written, number::kAttribute, map->attribute, map->value);
    entity_.add_point_tags(written, number::kAttribute, sample);
  }

  const otlp::Entity entity_;
  const MetricOf metric_of_;
  std::unordered_map<uint32_t, Known> metrics_;
  std::vector<Point> points_;  // of the current sample
  std::string bytes_;
};

class OtlpTraces final : public MessageEncoder {
 public:
  explicit OtlpTraces(const core::NameOf &name_of) : entity_(name_of) {}

  Rejected rejected(std::string_view answer) const override { return otlp::rejected(answer); }

  std::string_view append(const atalaya_sample &sample, std::string &out) override {
    if (sample.kind != ATALAYA_SPAN) return "OTLP traces have a form for spans only";
    if (sample.duration_ns < 0) return "is an open span; it is sent when it ends";
    bytes_.clear();
    pbf_writer resource_spans(bytes_);
    entity_.add_resource(resource_spans, sample);
    {
      pbf_writer scope_spans(resource_spans, otlp::kScopes);
      otlp::add_scope(scope_spans);
      add_span(scope_spans, sample);
    }
    pbf_writer(out).add_message(otlp::kRequestResource, bytes_);
    return {};
  }

 private:
  void add_span(pbf_writer &out, const atalaya_sample &sample) {
    pbf_writer written(out, otlp::kScopeItem);
    const std::string trace = trace_of(sample);
    const std::string ids = otlp::hash_bytes(trace, 1) + otlp::hash_bytes(trace, 2);
    written.add_bytes(span::kTrace, ids);
    written.add_bytes(span::kId, otlp::hash_bytes(identity_of(sample), 3));
    otlp::add_text(written, span::kName, view_of(sample.text));
    written.add_enum(span::kKind, span::kInternal);
    written.add_fixed64(span::kStart, static_cast<uint64_t>(sample.time_ns));
    written.add_fixed64(span::kEnd, static_cast<uint64_t>(core::end_of(sample)));
    entity_.add_point_tags(written, span::kAttribute, sample);
    for (uint32_t i = 0; i < sample.field_count; ++i)
      if (const std::string_view key = entity_.name(sample.fields[i].name); !key.empty())
        otlp::add_attribute(written, span::kAttribute, key, sample.fields[i]);
  }

  std::string trace_of(const atalaya_sample &sample) const {
    std::string job;
    std::string experiment;
    std::string host;
    entity_.for_each_tag(sample, [&](std::string_view key, std::string_view value) {
      if (key == "job") job = value;
      if (key == "experiment") experiment = value;
      if (key == "host") host = value;
    });
    if (!job.empty()) return "job " + job;
    return experiment.empty() ? "host " + host : "experiment " + experiment;
  }

  // By texts, because the numbers of names differ from run to run.
  std::string identity_of(const atalaya_sample &sample) const {
    std::vector<std::string> tags;
    entity_.for_each_tag(sample, [&](std::string_view key, std::string_view value) {
      tags.push_back(std::string(key).append(1, '\0').append(value).append(1, '\0'));
    });
    std::sort(tags.begin(), tags.end());
    std::string identity = std::to_string(sample.time_ns).append(1, '\0').append(view_of(sample.text)).append(1, '\0');
    for (const std::string &tag : tags) identity += tag;
    return identity;
  }

  const otlp::Entity entity_;
  std::string bytes_;
};

}  // namespace

std::unique_ptr<MessageEncoder> make_otlp_metrics(const core::NameOf &name_of, const MetricOf &metric_of) {
  return std::make_unique<OtlpMetrics>(name_of, metric_of);
}

std::unique_ptr<MessageEncoder> make_otlp_traces(const core::NameOf &name_of) {
  return std::make_unique<OtlpTraces>(name_of);
}

}  // namespace atalaya::protocols
