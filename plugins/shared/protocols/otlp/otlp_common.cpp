// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/otlp/otlp_common.h"

#include <algorithm>
#include <charconv>
#include <protozero/pbf_reader.hpp>

#include "plugins/shared/io/http/client/words.h"
#include "plugins/shared/io/samples/identity.h"
#include "plugins/shared/protocols/otlp/otlp_names.h"
#include "plugins/shared/protocols/prometheus/legal_text.h"

namespace atalaya::protocols::otlp {
namespace {

using protozero::pbf_tag_type;
using protozero::pbf_writer;

constexpr std::string_view kScopeText = "atalaya";

void add_tag(pbf_writer &out, pbf_tag_type tag, std::string_view name, std::string_view text) {
  const OtlpAttribute *known = otlp_attribute(name);
  if (known == nullptr) return add_attribute(out, tag, name, text);
  atalaya_field number{};
  number.type = ATALAYA_I64;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number.value.i64);
  if (known->is_number && problem == std::errc() && end == text.data() + text.size())
    add_attribute(out, tag, known->key, number);
  else
    add_attribute(out, tag, known->key, text);
}

}  // namespace

void add_text(pbf_writer &out, pbf_tag_type tag, std::string_view text) {
  std::string valid;
  prometheus::append_utf8(valid, text);
  out.add_string(tag, valid);
}

void add_value(pbf_writer &out, pbf_tag_type tag, std::string_view text) {
  pbf_writer value(out, tag);
  add_text(value, any::kText, text);
}

void add_attribute(pbf_writer &out, pbf_tag_type tag, std::string_view key, std::string_view text) {
  pbf_writer pair(out, tag);
  add_text(pair, pair::kKey, key);
  add_value(pair, pair::kValue, text);
}

void add_attribute(pbf_writer &out, pbf_tag_type tag, std::string_view key, const atalaya_field &field) {
  pbf_writer pair(out, tag);
  add_text(pair, pair::kKey, key);
  pbf_writer value(pair, pair::kValue);
  if (field.type == ATALAYA_I64)
    value.add_int64(any::kInteger, field.value.i64);
  else
    value.add_double(any::kDouble, field.value.f64);
}

std::string hash_bytes(std::string_view text, uint64_t seed) {
  uint64_t value = io::identity_hash(text, seed);
  if (value == 0) value = 1;  // an id is never 0
  std::string bytes(sizeof(value), '\0');
  for (char &byte : bytes) {
    byte = static_cast<char>(value & 0xff);
    value >>= 8;
  }
  return bytes;
}

MessageEncoder::Rejected rejected(std::string_view answer) {
  MessageEncoder::Rejected found;
  try {
    for (protozero::pbf_reader response(answer.data(), answer.size()); response.next(response::kPartialSuccess);) {
      for (protozero::pbf_reader partial = response.get_message(); partial.next();) {
        if (partial.tag_and_type() == protozero::tag_and_type(response::kRejected, protozero::pbf_wire_type::varint)) {
          found.points = static_cast<uint64_t>(std::max<int64_t>(partial.get_int64(), 0));
        } else if (partial.tag_and_type() ==
                   protozero::tag_and_type(response::kReason, protozero::pbf_wire_type::length_delimited)) {
          found.why = http_client::error_message(partial.get_string());
        } else {
          partial.skip();
        }
      }
    }
  } catch (const protozero::exception &) {
    return {};  // not of this protocol: a status 2xx alone
  }
  return found;
}

void Entity::add_resource(pbf_writer &out, const atalaya_sample &sample) const {
  pbf_writer resource(out, kResource);
  std::string_view service;
  for_each_tag(sample, [&](std::string_view key, std::string_view value) {
    const OtlpAttribute *known = otlp_attribute(key);
    if (known == nullptr || !known->of_resource) return;
    add_tag(resource, kResourceAttribute, key, value);
    if (key == "process") service = value;
  });
  // The conventions demand a name.
  add_attribute(resource, kResourceAttribute, "service.name", service.empty() ? kScopeText : service);
}

void Entity::add_point_tags(pbf_writer &out, pbf_tag_type tag, const atalaya_sample &sample) const {
  for_each_tag(sample, [&](std::string_view key, std::string_view value) {
    const OtlpAttribute *known = otlp_attribute(key);
    if (known == nullptr || !known->of_resource) add_tag(out, tag, key, value);
  });
}

void add_scope(pbf_writer &out) {
  pbf_writer scope(out, kScope);
  scope.add_string(kScopeName, kScopeText.data(), kScopeText.size());
}

}  // namespace atalaya::protocols::otlp
