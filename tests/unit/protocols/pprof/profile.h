// SPDX-License-Identifier: Apache-2.0
// A second reader of pprof's profiles, after profile.proto: it resolves texts, functions and locations by their numbers.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/shared/io/compress/decoder.h"

namespace atalaya::protocols::testing {

struct Profile {
  struct Sample {
    std::vector<std::string> frames;  // leaf first
    std::vector<int64_t> values;
    std::vector<std::pair<std::string, std::string>> labels;
    bool operator==(const Sample &) const = default;
  };
  std::vector<std::pair<std::string, std::string>> types;  // with their units
  std::vector<Sample> samples;
  int64_t time_ns = 0, duration_ns = 0;
  bool operator==(const Profile &) const = default;
};

class ProfileReader {
 public:
  explicit ProfileReader(std::string_view message) : message_(message) {
    protozero::pbf_reader reader(message.data(), message.size());
    while (reader.next()) {
      if (reader.tag() == 4) {
        locations_.push_back(reader.get_view());
      } else if (reader.tag() == 5) {
        const auto fields = numbers(reader.get_view());
        REQUIRE(fields.at(1) != 0);
        REQUIRE(functions_.emplace(fields.at(1), fields.count(2) == 0 ? 0 : fields.at(2)).second);
      } else if (reader.tag() == 6) {
        texts_.push_back(reader.get_string());
      } else {
        reader.skip();
      }
    }
    REQUIRE_FALSE(texts_.empty());
    REQUIRE(texts_[0].empty());
    for (const protozero::data_view &location : locations_) add_location(location);
  }

  Profile read() const {
    Profile profile;
    protozero::pbf_reader reader(message_.data(), message_.size());
    while (reader.next()) {
      if (reader.tag() == 1) {
        profile.types.push_back(pair(reader.get_view()));
      } else if (reader.tag() == 2) {
        profile.samples.push_back(sample(reader.get_view()));
      } else if (reader.tag() == 9) {
        profile.time_ns = reader.get_int64();
      } else if (reader.tag() == 10) {
        profile.duration_ns = reader.get_int64();
      } else {
        reader.skip();
      }
    }
    return profile;
  }

 private:
  static std::map<uint32_t, uint64_t> numbers(protozero::data_view message) {
    std::map<uint32_t, uint64_t> out;
    protozero::pbf_reader reader(message);
    while (reader.next()) {
      const uint32_t tag = reader.tag();
      if (reader.wire_type() == protozero::pbf_wire_type::varint)
        out[tag] = reader.get_uint64();
      else
        reader.skip();
    }
    return out;
  }
  // A packed list, or one of its members: Google's package packs lists of 3 and more.
  static std::vector<uint64_t> list(protozero::pbf_reader &reader) {
    if (reader.wire_type() == protozero::pbf_wire_type::varint) return {reader.get_uint64()};
    const auto numbers = reader.get_packed_uint64();
    return {numbers.begin(), numbers.end()};
  }
  void add_location(protozero::data_view message) {
    const auto fields = numbers(message);
    protozero::pbf_reader reader(message);
    REQUIRE(fields.at(1) != 0);
    REQUIRE(reader.next(4));
    const uint64_t function = numbers(reader.get_view()).at(1);
    REQUIRE(names_.emplace(fields.at(1), texts_.at(functions_.at(function))).second);
  }
  std::pair<std::string, std::string> pair(protozero::data_view message) const {
    const auto fields = numbers(message);
    const auto text = [&](uint32_t field) { return fields.count(field) == 0 ? "" : texts_.at(fields.at(field)); };
    return {text(1), text(2)};
  }
  Profile::Sample sample(protozero::data_view message) const {
    Profile::Sample out;
    protozero::pbf_reader reader(message);
    while (reader.next()) {
      if (reader.tag() == 1) {
        for (const uint64_t id : list(reader)) out.frames.push_back(names_.at(id));
      } else if (reader.tag() == 2) {
        for (const uint64_t value : list(reader)) out.values.push_back(static_cast<int64_t>(value));
      } else if (reader.tag() == 3) {
        out.labels.push_back(pair(reader.get_view()));
      } else {
        reader.skip();
      }
    }
    return out;
  }

  std::string_view message_;
  std::vector<protozero::data_view> locations_;
  std::map<uint64_t, uint64_t> functions_;  // text by id
  std::map<uint64_t, std::string> names_;   // by id of a location
  std::vector<std::string> texts_;
};

inline Profile read_profile(std::string_view gzipped) {
  io::Decoder decoder;
  std::string_view message;
  REQUIRE(decoder.decode(io::Encoding::gzip, gzipped, 1 << 24, 0, message) == io::Decoder::Result::complete);
  return ProfileReader(message).read();
}

}  // namespace atalaya::protocols::testing
