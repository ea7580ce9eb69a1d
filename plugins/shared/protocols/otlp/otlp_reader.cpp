// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/otlp/otlp_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "core/base/text/json_writer.h"
#include "plugins/shared/protocols/otlp/otlp_fields.h"
#include "plugins/shared/protocols/otlp/otlp_json.h"
#include "plugins/shared/protocols/otlp/otlp_layout.h"

namespace atalaya::protocols {
namespace {

using protozero::pbf_reader;
using protozero::pbf_tag_type;
using protozero::pbf_wire_type;

constexpr int32_t kUnknownDecimals = 6;   // of metrics whose sender does not declare them
constexpr size_t kMaxDeclaration = 4096;  // bytes; longer ones stay unknown
constexpr size_t kMaxPointTags = 1024;    // of a sample, as of a JSON document

constexpr int kMaxDepth = 16;     // of lists and maps in a value
constexpr uint32_t kNoValue = 1;  // flag: the point has no value

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

void append_base64(std::string &out, std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) out += i + k <= bytes.size() ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
}

struct Pair {
  std::string_view key, value;  // the value is a message AnyValue
};
Pair read_pair(std::string_view message) {
  Pair read;
  for (pbf_reader pair(message.data(), message.size()); pair.next();) {
    switch (pair.tag_and_type()) {
      case wire(otlp::pair::kKey, pbf_wire_type::length_delimited):
        read.key = text_of(pair);
        break;
      case wire(otlp::pair::kValue, pbf_wire_type::length_delimited):
        read.value = text_of(pair);
        break;
      default:
        pair.skip();
    }
  }
  return read;
}

bool write_any(core::JsonWriter &json, std::string_view message, int depth);

// Lists and maps are JSON, as the specification says for formats without them.
void write_members(core::JsonWriter &json, std::string_view message, bool is_map, int depth) {
  is_map ? json.object() : json.list();
  for (pbf_reader list(message.data(), message.size()); list.next(otlp::any::kMember, pbf_wire_type::length_delimited);) {
    std::string_view value = text_of(list);
    if (is_map) {
      const Pair pair = read_pair(value);
      json.key(pair.key);
      value = pair.value;
    }
    if (depth >= kMaxDepth || !write_any(json, value, depth + 1)) json.null();
  }
  is_map ? json.end_object() : json.end_list();
}

// Writes a message AnyValue as the value of a tag, or inside of a list (depth > 0) as JSON. False: it has no value.
bool write_any(core::JsonWriter &json, std::string_view message, int depth) {
  const auto write_text = [&](std::string_view text) { depth > 0 ? json.text(text) : json.raw(text); };
  bool found = false;
  for (pbf_reader value(message.data(), message.size()); !found && value.next();) {
    found = true;
    switch (value.tag_and_type()) {
      case wire(otlp::any::kText, pbf_wire_type::length_delimited):
        write_text(text_of(value));
        break;
      case wire(otlp::any::kBoolean, pbf_wire_type::varint):
        json.boolean(value.get_bool());
        break;
      case wire(otlp::any::kInteger, pbf_wire_type::varint):
        json.integer(value.get_int64());
        break;
      case wire(otlp::any::kDouble, pbf_wire_type::fixed64):
        json.number(value.get_double());
        break;
      case wire(otlp::any::kList, pbf_wire_type::length_delimited):
      case wire(otlp::any::kMap, pbf_wire_type::length_delimited): {
        const bool is_map = value.tag() == otlp::any::kMap;
        write_members(json, text_of(value), is_map, depth);
        break;
      }
      case wire(otlp::any::kBytes, pbf_wire_type::length_delimited): {
        std::string digits;
        append_base64(digits, text_of(value));
        write_text(digits);
        break;
      }
      default:
        found = false;
        value.skip();
    }
  }
  return found;
}

}  // namespace

struct OtlpReader::Metric {
  std::string_view name, unit, summary;
  std::string_view count_name, sum_name;  // of a distribution
  bool cumulative = false, monotonic = false;
  bool agrees = true;  // with the kind that the host knows
  // A sum that may fall is a gauge; its changes are deltas.
  uint32_t kind(uint32_t form) const {
    if (form == otlp::metric::kGauge || (form == otlp::metric::kSum && !monotonic && cumulative)) return ATALAYA_GAUGE;
    return cumulative ? ATALAYA_TOTAL : ATALAYA_DELTA;
  }
};

struct OtlpReader::Point {
  uint64_t start = 0, time = 0, count = 0;
  uint32_t flags = 0;
  RecordField value;
  double sum = 0;
  bool has_value = false, has_sum = false, omitted = false;
};

void OtlpReader::add_attribute(std::string_view message) {
  const Pair pair = read_pair(message);
  std::string text;
  core::JsonWriter json(text);
  if (pair.key.empty() || !write_any(json, pair.value, 0) || text.empty()) return;
  if (record_.tags.size() >= kMaxPointTags) {
    ++omitted_["attributes beyond 1024"];
    return;
  }
  record_.tags.push_back({tag_of(pair.key), stored(std::move(text))});
}

bool OtlpReader::declare(const Metric &metric, uint32_t kind, std::string_view suffix) {
  if (metric.name.size() + metric.unit.size() + metric.summary.size() > kMaxDeclaration) return true;
  const bool count = suffix == ".count";
  atalaya_metric_info info{.struct_size = sizeof(info), .kind = kind, .decimals = count ? -1 : kUnknownDecimals};
  const std::string_view unit = count || metric.unit.empty() ? "1" : metric.unit;
  info.unit = {unit.data(), unit.size()};
  info.summary = {metric.summary.data(), metric.summary.size()};
  return receiver_->declare(std::string(metric.name).append(suffix), info);
}

void OtlpReader::refuse_point(std::string_view why) {
  const uint64_t number = account_.good + account_.failed;
  ++refusals_[why];
  refuse(account_, *rules_, [&](std::string &out) { append_numbered(out, "point", number, why); });
}

// The attributes become tags of the record.
OtlpReader::Point OtlpReader::read_point(std::string_view message, uint32_t form) {
  const otlp::Layout &layout = otlp::layout_of(form);
  const bool distribution = otlp::is_distribution(form);
  Point read;
  for (pbf_reader point(message.data(), message.size()); point.next();) {
    const uint32_t item = point.tag_and_type();
    if (item == wire(otlp::point::kStart, pbf_wire_type::fixed64)) {
      read.start = point.get_fixed64();
    } else if (item == wire(otlp::point::kTime, pbf_wire_type::fixed64)) {
      read.time = point.get_fixed64();
    } else if (item == wire(layout.attribute, pbf_wire_type::length_delimited)) {
      add_attribute(text_of(point));
    } else if (item == wire(layout.flags, pbf_wire_type::varint)) {
      read.flags = point.get_uint32();
    } else if (distribution && item == wire(otlp::point::kCount, pbf_wire_type::fixed64)) {
      read.count = point.get_fixed64();
    } else if (distribution && item == wire(otlp::point::kSum, pbf_wire_type::fixed64)) {
      read.sum = point.get_double();
      read.has_sum = true;
    } else if (!distribution && item == wire(otlp::number::kAsDouble, pbf_wire_type::fixed64)) {
      read.value.f64 = point.get_double();
      read.has_value = std::isfinite(read.value.f64);
    } else if (!distribution && item == wire(otlp::number::kAsInteger, pbf_wire_type::fixed64)) {
      read.value.type = ATALAYA_I64;
      read.value.i64 = point.get_sfixed64();
      read.has_value = true;
    } else {
      if (point.tag() < 32) read.omitted = read.omitted || (layout.parts >> point.tag() & 1U) != 0;
      point.skip();
    }
  }
  return read;
}

void OtlpReader::point(std::string_view message, const Metric &metric, uint32_t form) {
  record_.tags.resize(resource_tags_);
  Point read = read_point(message, form);
  if ((read.flags & kNoValue) != 0) return;  // the series ends
  constexpr auto kLatest = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (!metric.agrees) return refuse_point(kOtherKind);
  if (otlp::is_distribution(form) ? !std::isfinite(read.sum) || read.count > kLatest : !read.has_value)
    return refuse_point("the point has no finite value");
  if (read.time == 0 || read.time > kLatest || read.start > read.time) return refuse_point("Invalid time");
  record_.kind = ATALAYA_METRICS;
  record_.point = true;
  record_.time_ns = static_cast<int64_t>(read.time);
  // The window of an amount; a total has no window.
  const bool amount = metric.kind(form) == ATALAYA_DELTA && read.start > 0;
  record_.duration_ns = amount ? static_cast<int64_t>(read.time - read.start) : 0;
  read.value.name = metric.name;
  if (otlp::is_distribution(form)) {
    read.value.name = metric.count_name;
    read.value.type = ATALAYA_I64;
    read.value.i64 = static_cast<int64_t>(read.count);  // proto3 leaves out a count of 0
  }
  record_.fields.assign(1, read.value);
  bool taken = receiver_->take(record_);
  if (read.has_sum) {
    record_.fields.assign(1, RecordField{.name = metric.sum_name, .f64 = read.sum});
    taken = receiver_->take(record_) && taken;
  }
  if (!taken) return refuse_point(kTooManyNames);
  ++account_.good;
  if (read.omitted) ++omitted_[otlp::layout_of(form).omitted];
}

void OtlpReader::data(std::string_view message, Metric &metric, uint32_t form) {
  for (pbf_reader data(message.data(), message.size()); data.next();) {
    if (data.tag_and_type() == wire(otlp::data::kTemporality, pbf_wire_type::varint)) {
      metric.cumulative = data.get_enum() != otlp::data::kDelta;
    } else if (form == otlp::metric::kSum && data.tag_and_type() == wire(otlp::data::kMonotonic, pbf_wire_type::varint)) {
      metric.monotonic = data.get_bool();
    } else {
      data.skip();
    }
  }
  if (form == otlp::metric::kSummary) metric.cumulative = true;
  if (otlp::is_distribution(form)) {
    metric.count_name = stored(std::string(metric.name) + ".count");
    metric.sum_name = stored(std::string(metric.name) + ".sum");
    metric.agrees = declare(metric, metric.kind(form), ".count") && declare(metric, metric.kind(form), ".sum");
  } else {
    metric.agrees = declare(metric, metric.kind(form), "");
  }
  for (pbf_reader data(message.data(), message.size()); data.next();) {
    if (data.tag_and_type() == wire(otlp::data::kPoint, pbf_wire_type::length_delimited))
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
    if (tag == otlp::metric::kName) metric.name = text;
    if (tag == otlp::metric::kDescription) metric.summary = text;
    if (tag == otlp::metric::kUnit) metric.unit = text;
    if (tag == otlp::metric::kGauge || tag == otlp::metric::kSum || otlp::is_distribution(tag)) {
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
    if (scope.tag_and_type() == wire(otlp::kScopeItem, pbf_wire_type::length_delimited))
      metric(text_of(scope));
    else
      scope.skip();
  }
}

void OtlpReader::resource_metrics(std::string_view message) {
  record_ = Record{};
  texts_.clear();
  for (pbf_reader reader(message.data(), message.size()); reader.next(otlp::kResource, pbf_wire_type::length_delimited);) {
    pbf_reader resource = reader.get_message();
    while (resource.next(otlp::kResourceAttribute, pbf_wire_type::length_delimited)) add_attribute(text_of(resource));
  }
  resource_tags_ = record_.tags.size();
  for (pbf_reader reader(message.data(), message.size()); reader.next(otlp::kScopes, pbf_wire_type::length_delimited);)
    scope_metrics(text_of(reader));
}

Account OtlpReader::read(std::string_view body, const Rules &rules, RecordReceiver &receiver) {
  rules_ = &rules;
  receiver_ = &receiver;
  account_ = Account{};
  refusals_.clear();
  omitted_.clear();
  try {
    for (pbf_reader request(body.data(), body.size()); request.next(otlp::kRequestResource, pbf_wire_type::length_delimited);)
      resource_metrics(text_of(request));
  } catch (const protozero::exception &) {
    account_ = Account{};
    account_.fatal = "The body is not an ExportMetricsServiceRequest";
  }
  for (const auto &[why, points] : refusals_) add_note(std::to_string(points) + " refused: " + std::string(why));
  for (const auto &[parts, points] : omitted_)
    add_note("not stored of " + std::to_string(points) + " points: " + std::string(parts));
  return std::move(account_);
}

void OtlpReader::add_note(std::string_view text) {
  if (!account_.note.empty()) account_.note += "; ";
  account_.note += text;
}

Account OtlpReader::read_json(std::string_view body, const Rules &rules, RecordReceiver &receiver) {
  const auto message = otlp_from_json(body);
  if (message) return read(message.value(), rules, receiver);
  Account account;
  account.fatal = message.error();
  return account;
}

std::string OtlpReader::response(const Account &account) {
  std::string out;
  if (account.note.empty()) return out;
  protozero::pbf_writer response(out);
  protozero::pbf_writer partial(response, otlp::response::kPartialSuccess);
  if (account.failed > 0) partial.add_int64(otlp::response::kRejected, static_cast<int64_t>(account.failed));
  partial.add_string(otlp::response::kReason, account.note.data(), account.note.size());
  return out;
}

std::string OtlpReader::json_response(const Account &account) {
  if (account.note.empty()) return "{}";
  std::string out;
  core::JsonWriter json(out);
  json.object().key("partialSuccess").object();
  if (account.failed > 0) json.key("rejectedDataPoints").text(std::to_string(account.failed));
  json.key("errorMessage").text(account.note).end_object().end_object();
  return out;
}

}  // namespace atalaya::protocols
