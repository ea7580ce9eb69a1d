// SPDX-License-Identifier: Apache-2.0
// Names of metrics and tags in OpenTelemetry's semantic conventions (opentelemetry.io/docs/specs/semconv, 1.30). Metrics and tags
// that have no name there keep theirs.
#pragma once

#include <cstdint>
#include <string_view>

namespace atalaya::protocols {

struct OtlpMetric {
  enum class Shape : uint8_t {
    gauge,   // the value
    amount,  // a rate times the length of its window: a sum of temporality delta
  };
  std::string_view name;        // ours
  std::string_view otlp, unit;  // theirs
  double factor = 1;            // our value, or amount, in their unit
  Shape shape = Shape::gauge;
  std::string_view attribute, value;  // of its points; "": none
};
// Null: the metric keeps its name.
const OtlpMetric *otlp_metric(std::string_view name);

struct OtlpAttribute {
  std::string_view tag;      // ours
  std::string_view key;      // theirs
  bool of_resource = false;  // it identifies what the metrics are about, else one point
  bool is_number = false;    // where its text is a whole number
};
// Null: the tag keeps its name, as an attribute of points.
const OtlpAttribute *otlp_attribute(std::string_view tag);

}  // namespace atalaya::protocols
