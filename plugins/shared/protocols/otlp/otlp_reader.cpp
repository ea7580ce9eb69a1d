// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/otlp/otlp_reader.h"

#include <cmath>
#include <limits>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

namespace atalaya::protocols {
namespace {

using protozero::pbf_reader;
using protozero::pbf_tag_type;
using protozero::pbf_wire_type;

constexpr int32_t kUnknownDecimals = 6;   // of metrics whose sender does not declare them
constexpr size_t kMaxDeclaration = 4096;  // bytes; longer ones stay unknown
constexpr size_t kMaxPointTags = 1024;    // of a sample, as of a JSON document

// Field numbers of opentelemetry-proto.
constexpr pbf_tag_type kRequestResource = 1;
constexpr pbf_tag_type kResource = 1, kScopes = 2;
constexpr pbf_tag_type kResourceAttribute = 1;
constexpr pbf_tag_type kScopeMetric = 2;
constexpr pbf_tag_type kKey = 1, kAnyValue = 2;
constexpr pbf_tag_type kText = 1, kBoolean = 2, kInteger = 3, kDouble = 4;
constexpr pbf_tag_type kName = 1, kDescription = 2, kUnit = 3;
constexpr pbf_tag_type kGauge = 5, kSum = 7, kHistogram = 9, kExponential = 10, kSummary = 11;
constexpr pbf_tag_type kPoint = 1, kTemporality = 2, kMonotonic = 3;
constexpr int32_t kDelta = 1;
constexpr pbf_tag_type kStart = 2, kTime = 3;
constexpr pbf_tag_type kAsDouble = 4, kAsInteger = 6, kNumberAttribute = 7;  // NumberDataPoint
constexpr pbf_tag_type kCount = 4, kSumOfValues = 5, kFlags = 8;             // histograms, summary
constexpr pbf_tag_type kHistogramAttribute = 9, kExponentialAttribute = 1, kSummaryAttribute = 7;
constexpr uint32_t kNoValue = 1;  // flag: the point has no value
constexpr pbf_tag_type kPartialSuccess = 1, kRejectedPoints = 1, kRejectedReason = 2;

constexpr uint32_t wire(pbf_tag_type tag, pbf_wire_type type) {
  return protozero::tag_and_type(tag, type);
}

std::string_view text_of(pbf_reader &reader) {
  const protozero::data_view bytes = reader.get_view();
  return {bytes.data(), bytes.size()};
}

std::string_view tag_of(std::string_view attribute) {
  if (attribute == "host.name") return "host";
  if (attribute == "process.pid") return "pid";
  if (attribute == "process.executable.name") return "process";
  if (attribute == "container.name") return "container";
  return attribute;
}

pbf_tag_type attribute_tag(uint32_t form) {
  if (form == kHistogram) return kHistogramAttribute;
  if (form == kExponential) return kExponentialAttribute;
  return form == kSummary ? kSummaryAttribute : kNumberAttribute;
}

bool is_distribution(uint32_t form) {
  return form == kHistogram || form == kExponential || form == kSummary;
}

// A scalar as the value of a tag; nothing for lists and for an absent value.
std::optional<std::string> scalar(std::string_view message) {
  std::optional<std::string> found;
  for (pbf_reader value(message.data(), message.size()); value.next();) {
    switch (value.tag_and_type()) {
      case wire(kText, pbf_wire_type::length_delimited):
        found = std::string(text_of(value));
        break;
      case wire(kBoolean, pbf_wire_type::varint):
        found = value.get_bool() ? "true" : "false";
        break;
      case wire(kInteger, pbf_wire_type::varint):
        found = std::to_string(value.get_int64());
        break;
      case wire(kDouble, pbf_wire_type::fixed64):
        found = std::to_string(value.get_double());
        break;
      default:
        value.skip();
    }
  }
  return found;
}

}  // namespace

struct OtlpReader::Metric {
  std::string_view name, unit, summary;
  bool cumulative = false, monotonic = false;
  uint32_t kind(uint32_t form) const {
    if (form == kGauge || (form == kSum && !monotonic)) return ATALAYA_GAUGE;
    return cumulative ? ATALAYA_TOTAL : ATALAYA_DELTA;
  }
};

void OtlpReader::add_attribute(std::string_view message) {
  std::string_view key;
  std::optional<std::string> text;
  for (pbf_reader pair(message.data(), message.size()); pair.next();) {
    switch (pair.tag_and_type()) {
      case wire(kKey, pbf_wire_type::length_delimited):
        key = text_of(pair);
        break;
      case wire(kAnyValue, pbf_wire_type::length_delimited):
        text = scalar(text_of(pair));
        break;
      default:
        pair.skip();
    }
  }
  if (key.empty() || !text || text->empty() || record_.tags.size() >= kMaxPointTags) return;
  record_.tags.push_back({tag_of(key), stored(std::move(*text))});
}

void OtlpReader::declare(const Metric &metric, uint32_t kind, std::string_view suffix) {
  if (metric.name.size() + metric.unit.size() + metric.summary.size() > kMaxDeclaration) return;
  const bool count = suffix == ".count";
  atalaya_metric_info info{.struct_size = sizeof(info), .kind = kind, .decimals = count ? -1 : kUnknownDecimals};
  const std::string_view unit = count || metric.unit.empty() ? "1" : metric.unit;
  info.unit = {unit.data(), unit.size()};
  info.summary = {metric.summary.data(), metric.summary.size()};
  taker_->declare(std::string(metric.name).append(suffix), info);
}

void OtlpReader::refuse_point(std::string_view why) {
  const uint64_t number = account_.good + account_.failed;
  refuse(account_, *rules_, [&](std::string &out) { append_numbered(out, "point", number, why); });
}

void OtlpReader::take() {
  if (taker_->take(record_))
    ++account_.good;
  else
    refuse_point(kTooManyNames);
}

void OtlpReader::point(std::string_view message, const Metric &metric, uint32_t form) {
  record_.tags.resize(resource_tags_);
  record_.fields.clear();
  uint64_t start = 0;
  uint64_t time = 0;
  uint32_t flags = 0;
  RecordField value{metric.name};
  RecordField sum;
  bool has_value = false;
  const pbf_tag_type attribute = attribute_tag(form);
  for (pbf_reader point(message.data(), message.size()); point.next();) {
    const uint32_t item = point.tag_and_type();
    if (item == wire(kStart, pbf_wire_type::fixed64)) {
      start = point.get_fixed64();
    } else if (item == wire(kTime, pbf_wire_type::fixed64)) {
      time = point.get_fixed64();
    } else if (item == wire(attribute, pbf_wire_type::length_delimited)) {
      add_attribute(text_of(point));
    } else if (item == wire(kFlags, pbf_wire_type::varint)) {
      flags = point.get_uint32();
    } else if (is_distribution(form) && item == wire(kCount, pbf_wire_type::fixed64)) {
      value.type = ATALAYA_I64;
      value.i64 = static_cast<int64_t>(std::min<uint64_t>(point.get_fixed64(), std::numeric_limits<int64_t>::max()));
      has_value = true;
    } else if (is_distribution(form) && item == wire(kSumOfValues, pbf_wire_type::fixed64)) {
      sum.f64 = point.get_double();
      sum.name = stored(std::string(metric.name) + ".sum");
    } else if (!is_distribution(form) && item == wire(kAsDouble, pbf_wire_type::fixed64)) {
      value.f64 = point.get_double();
      has_value = std::isfinite(value.f64);
    } else if (!is_distribution(form) && item == wire(kAsInteger, pbf_wire_type::fixed64)) {
      value.type = ATALAYA_I64;
      value.i64 = point.get_sfixed64();
      has_value = true;
    } else {
      point.skip();
    }
  }
  if ((flags & kNoValue) != 0) return;  // the series ends
  const auto latest = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (!has_value) return refuse_point("the point has no finite value");
  if (time == 0 || time > latest || start > time) return refuse_point("Invalid time");
  record_.kind = ATALAYA_METRICS;
  record_.point = true;
  record_.time_ns = static_cast<int64_t>(time);
  // The window of an amount; a total has no window.
  const bool amount = metric.kind(form) == ATALAYA_DELTA && start > 0;
  record_.duration_ns = amount ? static_cast<int64_t>(time - start) : 0;
  if (is_distribution(form)) value.name = stored(std::string(metric.name) + ".count");
  record_.fields.push_back(value);
  take();
  if (sum.name.empty() || !std::isfinite(sum.f64)) return;
  record_.fields.assign(1, sum);
  take();
}

void OtlpReader::data(std::string_view message, Metric &metric, uint32_t form) {
  for (pbf_reader data(message.data(), message.size()); data.next();) {
    if (data.tag_and_type() == wire(kTemporality, pbf_wire_type::varint)) {
      metric.cumulative = data.get_enum() != kDelta;
    } else if (form == kSum && data.tag_and_type() == wire(kMonotonic, pbf_wire_type::varint)) {
      metric.monotonic = data.get_bool();
    } else {
      data.skip();
    }
  }
  if (form == kSummary) metric.cumulative = true;
  if (is_distribution(form)) {
    declare(metric, metric.kind(form), ".count");
    declare(metric, metric.kind(form), ".sum");
  } else {
    declare(metric, metric.kind(form), "");
  }
  for (pbf_reader data(message.data(), message.size()); data.next();) {
    if (data.tag_and_type() == wire(kPoint, pbf_wire_type::length_delimited))
      point(text_of(data), metric, form);
    else
      data.skip();
  }
}

void OtlpReader::metric(std::string_view message) {
  Metric metric;
  std::string_view values;
  uint32_t form = 0;
  for (pbf_reader reader(message.data(), message.size()); reader.next();) {
    if (reader.wire_type() != pbf_wire_type::length_delimited) {
      reader.skip();
      continue;
    }
    const pbf_tag_type tag = reader.tag();
    const std::string_view text = text_of(reader);
    if (tag == kName) metric.name = text;
    if (tag == kDescription) metric.summary = text;
    if (tag == kUnit) metric.unit = text;
    if (tag == kGauge || tag == kSum || is_distribution(tag)) {
      values = text;
      form = tag;
    }
  }
  if (metric.name.empty()) return refuse_point("Metric name was empty");
  if (form == 0) return refuse_point("the metric has no known data");
  data(values, metric, form);
}

void OtlpReader::scope_metrics(std::string_view message) {
  for (pbf_reader scope(message.data(), message.size()); scope.next();) {
    if (scope.tag_and_type() == wire(kScopeMetric, pbf_wire_type::length_delimited))
      metric(text_of(scope));
    else
      scope.skip();
  }
}

void OtlpReader::resource_metrics(std::string_view message) {
  record_ = Record{};
  texts_.clear();
  for (pbf_reader reader(message.data(), message.size()); reader.next(kResource, pbf_wire_type::length_delimited);) {
    pbf_reader resource = reader.get_message();
    while (resource.next(kResourceAttribute, pbf_wire_type::length_delimited)) add_attribute(text_of(resource));
  }
  resource_tags_ = record_.tags.size();
  for (pbf_reader reader(message.data(), message.size()); reader.next(kScopes, pbf_wire_type::length_delimited);)
    scope_metrics(text_of(reader));
}

Account OtlpReader::read(std::string_view body, const Rules &rules, Taker &taker) {
  rules_ = &rules;
  taker_ = &taker;
  account_ = Account{};
  try {
    for (pbf_reader request(body.data(), body.size()); request.next(kRequestResource, pbf_wire_type::length_delimited);)
      resource_metrics(text_of(request));
  } catch (const protozero::exception &) {
    account_ = Account{};
    account_.fatal = "The body is not an ExportMetricsServiceRequest";
  }
  return std::move(account_);
}

std::string OtlpReader::response(uint64_t refused, std::string_view why) {
  std::string out;
  if (refused == 0) return out;
  protozero::pbf_writer response(out);
  protozero::pbf_writer partial(response, kPartialSuccess);
  partial.add_int64(kRejectedPoints, static_cast<int64_t>(std::min<uint64_t>(refused, std::numeric_limits<int64_t>::max())));
  partial.add_string(kRejectedReason, why.data(), why.size());
  return out;
}

}  // namespace atalaya::protocols
