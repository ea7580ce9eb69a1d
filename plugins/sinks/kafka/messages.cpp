// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/kafka/messages.h"

#include <algorithm>
#include <charconv>

namespace atalaya::kafka_sink {
namespace {

constexpr int64_t kNanosPerMilli = 1'000'000;

// FNV-1a. The hash of a key selects its partition, so it must be equal in all agents at all times: no std::hash, no ids.
uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325U;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  return hash;
}
uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
  return hash ^ (hash >> 32);
}
std::string_view view(atalaya_str text) {
  return text.size == 0 ? std::string_view{} : std::string_view(text.data, text.size);
}

void append_hex(std::string &out, uint64_t value) {
  char digits[16];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), value, 16).ptr;
  const auto size = static_cast<size_t>(end - digits);
  out.append(sizeof(digits) - size, '0');
  out.append(digits, size);
}

}  // namespace

Messages::Messages(const MessageConfig &config, const core::NameOf &name_of, uint32_t host_key)
    : config_(config),
      name_of_(name_of),
      host_key_(host_key),
      encoder_(protocols::make_encoder(config.format, name_of, config.tags)) {}

void Messages::load(std::span<const atalaya_sample> samples) {
  text_.clear();
  messages_.clear();
  not_encodable_.clear();
  for (size_t i = 0; i < samples.size(); ++i) append_value(samples[i], i);
}

// Hash of the kind and the tags, independent of their order. Frames of a stack are excluded, so that all stacks of a process have
// the same key.
uint64_t Messages::series_hash(const atalaya_sample &sample) {
  uint64_t hash = mix(sample.kind, 0);
  for (uint32_t i = 0; i < sample.tag_count; ++i) {
    const atalaya_tag &tag = sample.tags[i];
    const uint64_t name = name_hashes_.get(tag.key, [&] { return hash_of(name_of_(tag.key)); });
    hash += mix(name, hash_of(view(tag.value)));
  }
  return mix(hash, 0);
}

Messages::Range Messages::append_key(const atalaya_sample &sample) {
  const size_t begin = text_.size();
  if (config_.key == KeyBy::none) return {begin, begin};
  for (uint32_t i = 0; i < sample.tag_count; ++i)
    if (sample.tags[i].key == host_key_) text_ += view(sample.tags[i].value);
  if (config_.key == KeyBy::series) {
    text_ += '/';
    append_hex(text_, series_hash(sample));
  }
  return {begin, text_.size()};
}

void Messages::append_value(const atalaya_sample &sample, size_t index) {
  const size_t before = text_.size();
  const Range key = append_key(sample);
  const bool array = config_.format == protocols::Format::opentsdb && !config_.per_point;
  const size_t begin = text_.size();
  if (array) text_ += '[';
  const size_t lines = text_.size();
  if (const std::string_view reason = encoder_->append(sample, text_); !reason.empty()) {
    not_encodable_.emplace_back(index, reason);
    text_.resize(before);
    return;
  }
  const int64_t time_ms = sample.time_ns / kNanosPerMilli;
  if (config_.per_point) {
    for (size_t at = lines; at < text_.size();) {
      const size_t end = text_.find('\n', at);
      messages_.push_back({{at, end}, key, time_ms, index});
      at = end + 1;
    }
    return;
  }
  size_t end = text_.size() - 1;  // without the line end
  if (array) {
    std::replace(text_.begin() + static_cast<std::ptrdiff_t>(lines), text_.end(), '\n', ',');
    text_[end++] = ']';
  }
  messages_.push_back({{begin, end}, key, time_ms, index});
}

}  // namespace atalaya::kafka_sink
