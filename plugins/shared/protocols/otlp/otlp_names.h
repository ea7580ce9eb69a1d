// SPDX-License-Identifier: Apache-2.0
// Maps metrics and tags to OpenTelemetry's semantic conventions (opentelemetry.io/docs/specs/semconv, 1.30). Metrics and tags
// without a convention keep their names.
#pragma once

#include <cstdint>
#include <string_view>

namespace atalaya::protocols {

struct OtlpMetric {
  enum class Shape : uint8_t {
    gauge,   // the value
    amount,  // a rate times the length of its window: a sum of temporality delta
  };
  std::string_view name;        // name in Atalaya
  std::string_view otlp, unit;  // name and unit in OpenTelemetry
  double factor = 1;            // factor from Atalaya's unit to OpenTelemetry's
  Shape shape = Shape::gauge;
  std::string_view attribute, value;  // an attribute of its points; "": none
};
// The convention for a metric; null if there is none.
const OtlpMetric *otlp_metric(std::string_view name);

struct OtlpAttribute {
  std::string_view tag;      // name in Atalaya
  std::string_view key;      // name in OpenTelemetry
  bool of_resource = false;  // true: an attribute of the resource; false: an attribute of a point
  bool is_number = false;    // sent as an integer if its text is one
};
// The convention for a tag; null if there is none: the tag is then an attribute of points with its own name.
const OtlpAttribute *otlp_attribute(std::string_view tag);

}  // namespace atalaya::protocols
