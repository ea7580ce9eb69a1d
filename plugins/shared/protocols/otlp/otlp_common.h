// SPDX-License-Identifier: Apache-2.0
// Encodes OpenTelemetry's resources and attributes, which all signals share. Source: opentelemetry-proto (common, resource).
// Pure.
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/sample/name_cache.h"
#include "plugins/shared/protocols/base/message_encoder.h"
#include "plugins/shared/protocols/base/stack_sample.h"
#include "plugins/shared/protocols/otlp/otlp_fields.h"

namespace atalaya::protocols::otlp {

// Adds a text as valid UTF-8.
void add_text(protozero::pbf_writer &out, protozero::pbf_tag_type tag, std::string_view text);
// Adds a message AnyValue.
void add_value(protozero::pbf_writer &out, protozero::pbf_tag_type tag, std::string_view text);
// Add a message KeyValue.
void add_attribute(protozero::pbf_writer &out, protozero::pbf_tag_type tag, std::string_view key, std::string_view text);
void add_attribute(protozero::pbf_writer &out, protozero::pbf_tag_type tag, std::string_view key, const atalaya_field &field);
// Adds the message InstrumentationScope.
void add_scope(protozero::pbf_writer &out);
// A hash of a text as the 8 bytes of an identifier. It is equal when the same text is sent again, and never 0.
std::string hash_bytes(std::string_view text, uint64_t seed);
// Reads the number of refused points, spans or profiles from an answer.
MessageEncoder::Rejected rejected(std::string_view answer);

// Divides the tags of samples into those that identify the resource and those of a point.
class Entity {
 public:
  explicit Entity(core::NameOf name_of) : name_of_(std::move(name_of)) {}

  std::string_view name(uint32_t id) const { return name_of_(id); }
  const core::NameOf &name_of() const { return name_of_; }
  void add_resource(protozero::pbf_writer &out, const atalaya_sample &sample) const;
  void add_point_tags(protozero::pbf_writer &out, protozero::pbf_tag_type tag, const atalaya_sample &sample) const;

  template <class Use>
  void for_each_tag(const atalaya_sample &sample, Use &&use) const {
    for (uint32_t i = 0; i < sample.tag_count; ++i)
      if (const std::string_view key = name_of_(sample.tags[i].key); !key.empty()) use(key, view_of(sample.tags[i].value));
  }

 private:
  core::NameOf name_of_;
};

}  // namespace atalaya::protocols::otlp
