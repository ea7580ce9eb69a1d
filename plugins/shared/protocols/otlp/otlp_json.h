// SPDX-License-Identifier: Apache-2.0
// The JSON form of OTLP's metrics. Source: opentelemetry.io/docs/specs/otlp, "JSON Protobuf Encoding": keys in lowerCamelCase,
// integers of 64 bits as text or number, enumerations as numbers, unknown keys and null ignored.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace atalaya::protocols {

// The request as protobuf, with the fields that OtlpReader reads or reports. DocumentReader::kPadding bytes after the body must be
// readable.
core::Result<std::string> otlp_from_json(std::string_view body);

}  // namespace atalaya::protocols
