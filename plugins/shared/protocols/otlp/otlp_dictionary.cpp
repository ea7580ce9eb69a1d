// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/otlp/otlp_dictionary.h"

#include <algorithm>
#include <utility>

#include "plugins/shared/protocols/otlp/otlp_common.h"

namespace atalaya::protocols::otlp {
namespace {

using protozero::pbf_tag_type;
using protozero::pbf_writer;

// Field numbers of profiles.proto.
namespace table {
constexpr pbf_tag_type kMapping = 1, kLocation = 2, kFunction = 3, kLink = 4, kString = 5, kAttribute = 6, kStack = 7;
}
namespace location {
constexpr pbf_tag_type kLine = 3;
constexpr pbf_tag_type kLineFunction = 1;
}  // namespace location
namespace function {
constexpr pbf_tag_type kName = 1;
}
namespace call_stack {
constexpr pbf_tag_type kLocations = 1;
}
namespace attribute_of {
constexpr pbf_tag_type kKey = 1, kValue = 2;
}

int32_t number_of(size_t index) {
  return static_cast<int32_t>(index);
}

}  // namespace

Dictionary::Dictionary() : texts_(1), text_numbers_{{"", 0}}, frames_(1), stacks_(1), attributes_(1) {}

int32_t Dictionary::text(std::string_view value) {
  const auto [at, is_new] = text_numbers_.try_emplace(std::string(value), number_of(texts_.size()));
  if (is_new) texts_.emplace_back(value);
  return at->second;
}

int32_t Dictionary::attribute(std::string_view key, std::string_view value) {
  const int32_t name = text(key);
  const auto [at, is_new] = attribute_numbers_.try_emplace({name, std::string(value)}, number_of(attributes_.size()));
  if (is_new) attributes_.push_back({name, std::string(value)});
  return at->second;
}

int32_t Dictionary::frame(std::string_view name) {
  const int32_t number = text(name);
  const auto [at, is_new] = frame_numbers_.try_emplace(number, number_of(frames_.size()));
  if (is_new) frames_.push_back(number);
  return at->second;
}

int32_t Dictionary::stack(std::string_view folded) {
  const auto [at, is_new] = stack_numbers_.try_emplace(std::string(folded), number_of(stacks_.size()));
  if (!is_new) return at->second;
  std::vector<int32_t> &frames = stacks_.emplace_back();
  for (size_t begin = 0; begin <= folded.size();) {
    const size_t end = std::min(folded.find(';', begin), folded.size());
    frames.push_back(frame(folded.substr(begin, end - begin)));
    begin = end + 1;
  }
  std::reverse(frames.begin(), frames.end());
  return at->second;
}

// protozero drops messages without fields that are written field by field.
void Dictionary::write(pbf_writer &out, pbf_tag_type tag) const {
  pbf_writer dictionary(out, tag);
  for (const pbf_tag_type none :
       {table::kMapping, table::kLocation, table::kFunction, table::kLink, table::kAttribute, table::kStack})
    dictionary.add_message(none, "", 0);
  for (size_t i = 1; i < frames_.size(); ++i) {
    pbf_writer place(dictionary, table::kLocation);
    pbf_writer line(place, location::kLine);
    line.add_int32(location::kLineFunction, number_of(i));
  }
  for (size_t i = 1; i < frames_.size(); ++i) {
    // The name of an empty frame is the first text.
    pbf_writer written(dictionary, table::kFunction);
    written.add_int32(function::kName, frames_[i]);
  }
  for (const std::string &text : texts_) add_text(dictionary, table::kString, text);
  for (size_t i = 1; i < attributes_.size(); ++i) {
    pbf_writer pair(dictionary, table::kAttribute);
    pair.add_int32(attribute_of::kKey, attributes_[i].key);
    add_value(pair, attribute_of::kValue, attributes_[i].value);
  }
  for (size_t i = 1; i < stacks_.size(); ++i) {
    pbf_writer stack(dictionary, table::kStack);
    stack.add_packed_int32(call_stack::kLocations, stacks_[i].begin(), stacks_[i].end());
  }
}

}  // namespace atalaya::protocols::otlp
