// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/otlp/otlp_json.h"

#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <protozero/pbf_writer.hpp>
#include <span>

#include "plugins/shared/protocols/base/numbers.h"
#include "plugins/shared/protocols/otlp/otlp_fields.h"

namespace atalaya::protocols {
namespace {

using protozero::pbf_tag_type;
using protozero::pbf_writer;
using simdjson::dom::element;

enum class Type : uint8_t { message, text, boolean, varint, fixed, real };

struct Field {
  std::string_view name;
  pbf_tag_type tag;
  Type type;
  std::span<const Field> (*message)() = nullptr;
};
using Message = std::span<const Field>;

// Parts that are not stored need no fields: their presence is reported.
Message empty_fields() {
  return {};
}
Message any_value_fields();
Message key_value_fields() {
  static constexpr Field kFields[] = {{"key", otlp::pair::kKey, Type::text},
                                      {"value", otlp::pair::kValue, Type::message, any_value_fields}};
  return kFields;
}
Message array_value_fields() {
  static constexpr Field kFields[] = {{"values", otlp::any::kMember, Type::message, any_value_fields}};
  return kFields;
}
Message map_value_fields() {
  static constexpr Field kFields[] = {{"values", otlp::any::kMember, Type::message, key_value_fields}};
  return kFields;
}
// Bytes are Base64 in JSON, and a text for a tag.
Message any_value_fields() {
  static constexpr Field kFields[] = {{"stringValue", otlp::any::kText, Type::text},
                                      {"boolValue", otlp::any::kBoolean, Type::boolean},
                                      {"intValue", otlp::any::kInteger, Type::varint},
                                      {"doubleValue", otlp::any::kDouble, Type::real},
                                      {"arrayValue", otlp::any::kList, Type::message, array_value_fields},
                                      {"kvlistValue", otlp::any::kMap, Type::message, map_value_fields},
                                      {"bytesValue", otlp::any::kText, Type::text}};
  return kFields;
}
Message number_point_fields() {
  static constexpr Field kFields[] = {{"startTimeUnixNano", otlp::point::kStart, Type::fixed},
                                      {"timeUnixNano", otlp::point::kTime, Type::fixed},
                                      {"asDouble", otlp::number::kAsDouble, Type::real},
                                      {"exemplars", otlp::number::kExemplars, Type::message, empty_fields},
                                      {"asInt", otlp::number::kAsInteger, Type::fixed},
                                      {"attributes", otlp::number::kAttribute, Type::message, key_value_fields},
                                      {"flags", otlp::number::kFlags, Type::varint}};
  return kFields;
}
Message histogram_point_fields() {
  static constexpr Field kFields[] = {{"startTimeUnixNano", otlp::point::kStart, Type::fixed},
                                      {"timeUnixNano", otlp::point::kTime, Type::fixed},
                                      {"count", otlp::point::kCount, Type::fixed},
                                      {"sum", otlp::point::kSum, Type::real},
                                      {"bucketCounts", otlp::histogram::kBuckets, Type::fixed},
                                      {"exemplars", otlp::histogram::kExemplars, Type::message, empty_fields},
                                      {"attributes", otlp::histogram::kAttribute, Type::message, key_value_fields},
                                      {"flags", otlp::histogram::kFlags, Type::varint},
                                      {"min", otlp::histogram::kMinimum, Type::real},
                                      {"max", otlp::histogram::kMaximum, Type::real}};
  return kFields;
}
Message exponential_point_fields() {
  static constexpr Field kFields[] = {{"attributes", otlp::exponential::kAttribute, Type::message, key_value_fields},
                                      {"startTimeUnixNano", otlp::point::kStart, Type::fixed},
                                      {"timeUnixNano", otlp::point::kTime, Type::fixed},
                                      {"count", otlp::point::kCount, Type::fixed},
                                      {"sum", otlp::point::kSum, Type::real},
                                      {"zeroCount", otlp::exponential::kZeroCount, Type::fixed},
                                      {"positive", otlp::exponential::kPositive, Type::message, empty_fields},
                                      {"negative", otlp::exponential::kNegative, Type::message, empty_fields},
                                      {"flags", otlp::exponential::kFlags, Type::varint},
                                      {"exemplars", otlp::exponential::kExemplars, Type::message, empty_fields},
                                      {"min", otlp::exponential::kMinimum, Type::real},
                                      {"max", otlp::exponential::kMaximum, Type::real}};
  return kFields;
}
Message summary_point_fields() {
  static constexpr Field kFields[] = {{"startTimeUnixNano", otlp::point::kStart, Type::fixed},
                                      {"timeUnixNano", otlp::point::kTime, Type::fixed},
                                      {"count", otlp::point::kCount, Type::fixed},
                                      {"sum", otlp::point::kSum, Type::real},
                                      {"quantileValues", otlp::summary::kQuantiles, Type::message, empty_fields},
                                      {"attributes", otlp::summary::kAttribute, Type::message, key_value_fields},
                                      {"flags", otlp::summary::kFlags, Type::varint}};
  return kFields;
}
template <Message (*Point)()>
Message data_fields() {
  static constexpr Field kFields[] = {{"dataPoints", otlp::data::kPoint, Type::message, Point},
                                      {"aggregationTemporality", otlp::data::kTemporality, Type::varint},
                                      {"isMonotonic", otlp::data::kMonotonic, Type::boolean}};
  return kFields;
}
Message metric_fields() {
  static constexpr Field kFields[] = {
      {"name", otlp::metric::kName, Type::text},
      {"description", otlp::metric::kDescription, Type::text},
      {"unit", otlp::metric::kUnit, Type::text},
      {"gauge", otlp::metric::kGauge, Type::message, data_fields<number_point_fields>},
      {"sum", otlp::metric::kSum, Type::message, data_fields<number_point_fields>},
      {"histogram", otlp::metric::kHistogram, Type::message, data_fields<histogram_point_fields>},
      {"exponentialHistogram", otlp::metric::kExponential, Type::message, data_fields<exponential_point_fields>},
      {"summary", otlp::metric::kSummary, Type::message, data_fields<summary_point_fields>}};
  return kFields;
}
Message scope_metrics_fields() {
  static constexpr Field kFields[] = {{"metrics", otlp::kScopeItem, Type::message, metric_fields}};
  return kFields;
}
Message resource_fields() {
  static constexpr Field kFields[] = {{"attributes", otlp::kResourceAttribute, Type::message, key_value_fields}};
  return kFields;
}
Message resource_metrics_fields() {
  static constexpr Field kFields[] = {{"resource", otlp::kResource, Type::message, resource_fields},
                                      {"scopeMetrics", otlp::kScopes, Type::message, scope_metrics_fields}};
  return kFields;
}
Message request_fields() {
  static constexpr Field kFields[] = {{"resourceMetrics", otlp::kRequestResource, Type::message, resource_metrics_fields}};
  return kFields;
}

struct Mismatch {
  std::string_view field;
};

// The bits of an integer, which may be a text.
uint64_t integer(element value, const Field &field) {
  if (value.is_uint64()) return uint64_t{value};
  if (value.is_int64()) return static_cast<uint64_t>(int64_t{value});
  if (value.is_string()) {
    const std::string_view text = value;
    if (const auto number = parse_unsigned(text)) return *number;
    if (const auto number = parse_integer(text)) return static_cast<uint64_t>(*number);
  }
  throw Mismatch{field.name};
}

double real(element value, const Field &field) {
  if (value.is_number()) return double{value};
  if (value.is_string()) {
    const std::string_view text = value;
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (text == "Infinity") return std::numeric_limits<double>::infinity();
    if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (const auto number = parse_real(text)) return *number;
  }
  throw Mismatch{field.name};
}

void append(element value, Message message, pbf_writer &out);

void append_one(element value, const Field &field, pbf_writer &out) {
  switch (field.type) {
    case Type::message: {
      if (!value.is_object()) throw Mismatch{field.name};
      std::string inner;  // pbf_writer leaves out empty messages that are written in place
      pbf_writer written(inner);
      append(value, field.message(), written);
      return out.add_message(field.tag, inner);
    }
    case Type::text: {
      if (!value.is_string()) throw Mismatch{field.name};
      const std::string_view text = value;
      return out.add_string(field.tag, text.data(), text.size());
    }
    case Type::boolean:
      if (!value.is_bool()) throw Mismatch{field.name};
      return out.add_bool(field.tag, bool{value});
    case Type::varint:
      return out.add_uint64(field.tag, integer(value, field));
    case Type::fixed:
      return out.add_fixed64(field.tag, integer(value, field));
    case Type::real:
      return out.add_double(field.tag, real(value, field));
  }
}

void append(element value, Message message, pbf_writer &out) {
  for (const auto &[key, member] : simdjson::dom::object(value)) {
    const std::string_view name = key;
    const auto field = std::find_if(message.begin(), message.end(), [&](const Field &known) { return known.name == name; });
    if (field == message.end() || member.is_null()) continue;
    if (!member.is_array()) {
      append_one(member, *field, out);
      continue;
    }
    for (const element item : simdjson::dom::array(member)) append_one(item, *field, out);
  }
}

}  // namespace

core::Result<std::string> otlp_from_json(std::string_view body) {
  static constexpr std::string_view kNot = "The body is not an ExportMetricsServiceRequest in JSON";
  // A message is copied into the one around it, so depth costs time; values nest three levels each.
  static constexpr size_t kMaxDepth = 64;
  simdjson::dom::parser parser;
  element document;
  if (parser.allocate(std::max<size_t>(body.size(), 64), kMaxDepth) != simdjson::SUCCESS ||
      parser.parse(body.data(), body.size(), false).get(document) != simdjson::SUCCESS || !document.is_object())
    return core::Error{std::string(kNot)};
  std::string out;
  try {
    pbf_writer written(out);
    append(document, request_fields(), written);
  } catch (const Mismatch &mismatch) {
    return core::Error{std::string(kNot) + ": wrong type of " + std::string(mismatch.field)};
  }
  return out;
}

}  // namespace atalaya::protocols
