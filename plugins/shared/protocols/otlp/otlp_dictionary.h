// SPDX-License-Identifier: Apache-2.0
// The tables of texts, attributes and stacks that the profiles of a request share. The first entry of each table is empty: index
// 0 means "none". Pure.
#pragma once

#include <cstdint>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace atalaya::protocols::otlp {

class Dictionary {
 public:
  Dictionary();

  int32_t text(std::string_view value);
  int32_t attribute(std::string_view key, std::string_view value);
  // Adds a folded stack, "main;f;g". Frames have names only, without addresses and lines.
  int32_t stack(std::string_view folded);

  // The message ProfilesDictionary.
  void write(protozero::pbf_writer &out, protozero::pbf_tag_type tag) const;

 private:
  int32_t frame(std::string_view name);

  std::vector<std::string> texts_;
  std::unordered_map<std::string, int32_t> text_numbers_;
  std::vector<int32_t> frames_;  // index of each frame's text; a frame is one location and one function
  std::unordered_map<int32_t, int32_t> frame_numbers_;
  std::vector<std::vector<int32_t>> stacks_;  // leaf first
  std::unordered_map<std::string, int32_t> stack_numbers_;
  struct Attribute {
    int32_t key = 0;
    std::string value;
  };
  std::vector<Attribute> attributes_;
  std::map<std::pair<int32_t, std::string>, int32_t> attribute_numbers_;
};

}  // namespace atalaya::protocols::otlp
