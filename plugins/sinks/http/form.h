// SPDX-License-Identifier: Apache-2.0
// The formats of the sinks "http" and "otlp".
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "plugins/shared/protocols/base/message_encoder.h"
#include "plugins/shared/protocols/base/sample_encoder.h"
#include "plugins/shared/protocols/formats/encoder.h"
#include "plugins/shared/protocols/prometheus/metric.h"

namespace atalaya::http_sink {

enum class Message : uint8_t { none, remote_write, otlp_metrics, otlp_traces };
enum class SampleFormat : uint8_t { none, flat, pyroscope, otlp_profiles };
enum class Alert : uint8_t { none, alertmanager, webhook };

// Properties of a format: how its requests are built.
struct Form {
  protocols::Format format;
  std::string_view content_type, default_path;
  bool array;                                       // true: the records are elements of one JSON array; false: lines
  bool details;                                     // true: with ?details the server reports which points it refused
  SampleFormat sample_format = SampleFormat::none;  // requests contain complete samples; `format` is that of dead letters
  Message message = Message::none;                  // the records are parts of a protobuf message; `format` is that of dead letters
  Alert alert = Alert::none;                        // the records are alerts; `format` is not used
  std::string_view header = {}, header_value = {};  // an additional header of each request; "": none
  std::string_view compress = {};                   // the only compression of the format; "": as configured
};
Form form_of(std::string_view name);

// The encoder of records (lines or array elements), also of dead letters.
std::unique_ptr<core::Encoder> make_lines(const Form &form, const protocols::TagLimit &tags, const core::NameOf &name_of);
// The encoder of protobuf messages; null for other formats.
std::unique_ptr<protocols::MessageEncoder> make_messages(const Form &form, const core::NameOf &name_of,
                                                         const protocols::MetricOf &metric_of,
                                                         const std::shared_ptr<prometheus::ExposedNames> &exposed_names);
// The encoder of complete samples; null for other formats.
std::unique_ptr<protocols::SampleEncoder> make_sample_encoder(const Form &form, int64_t sample_rate, const core::NameOf &name_of,
                                                              const protocols::MetricOf &metric_of);

}  // namespace atalaya::http_sink
