// SPDX-License-Identifier: Apache-2.0
// A second reader of Riemann's messages, after proto.proto: it shares no code with the library that writes them.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace atalaya::protocols::testing {

struct RiemannEvent {
  std::optional<int64_t> time, time_micros, whole;  // whole: metric_sint64
  std::optional<double> real;                       // metric_d
  std::optional<float> ttl;
  std::optional<std::string> state, service, host, description;
  std::vector<std::string> tags;
  std::vector<std::pair<std::string, std::string>> attributes;
  bool operator==(const RiemannEvent &) const = default;
};

inline std::pair<std::string, std::string> attribute_in(protozero::pbf_reader reader) {
  std::pair<std::string, std::string> out;
  while (reader.next()) {
    REQUIRE((reader.tag() == 1 || reader.tag() == 2));
    std::string &text = reader.tag() == 1 ? out.first : out.second;  // the tag is unknown once the field is read
    text = reader.get_string();
  }
  return out;
}

inline RiemannEvent event_in(protozero::pbf_reader reader) {
  RiemannEvent out;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        out.time = reader.get_int64();
        break;
      case 2:
        out.state = reader.get_string();
        break;
      case 3:
        out.service = reader.get_string();
        break;
      case 4:
        out.host = reader.get_string();
        break;
      case 5:
        out.description = reader.get_string();
        break;
      case 7:
        out.tags.push_back(reader.get_string());
        break;
      case 8:
        out.ttl = reader.get_float();
        break;
      case 9:
        out.attributes.push_back(attribute_in(reader.get_message()));
        break;
      case 10:
        out.time_micros = reader.get_int64();
        break;
      case 13:
        out.whole = reader.get_sint64();
        break;
      case 14:
        out.real = reader.get_double();
        break;
      default:
        FAIL("a field of no event: " << reader.tag());
    }
  }
  return out;
}

// The events of one message behind its length.
inline std::vector<RiemannEvent> read_events(std::string_view bytes) {
  REQUIRE(bytes.size() >= 4);
  size_t length = 0;
  for (const char byte : bytes.substr(0, 4)) length = length << 8 | static_cast<unsigned char>(byte);
  REQUIRE(length == bytes.size() - 4);
  std::vector<RiemannEvent> events;
  protozero::pbf_reader reader(bytes.data() + 4, length);
  while (reader.next(6)) events.push_back(event_in(reader.get_message()));
  REQUIRE(reader.length() == 0);
  return events;
}

}  // namespace atalaya::protocols::testing
