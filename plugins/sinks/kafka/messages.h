// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/shared/io/samples/per_name.h"
#include "plugins/shared/protocols/formats/encoder.h"

namespace atalaya::kafka_sink {

enum class KeyBy { series, host, none };

struct MessageConfig {
  protocols::Format format = protocols::Format::jsonlines;
  bool per_point = false;  // true: one message per line; false: one per sample
  KeyBy key = KeyBy::series;
  protocols::TagLimit tags;
};

// Encodes a batch as Kafka messages with keys. Reused from batch to batch, so that its memory is allocated once.
class Messages {
 public:
  Messages(const MessageConfig &config, const core::NameOf &name_of, uint32_t host_key);

  void load(std::span<const atalaya_sample> samples);

  size_t size() const { return messages_.size(); }
  std::string_view value(size_t message) const { return cut(messages_[message].value); }
  std::string_view key(size_t message) const { return cut(messages_[message].key); }  // empty: none
  int64_t time_ms(size_t message) const { return messages_[message].time_ms; }
  size_t sample(size_t message) const { return messages_[message].sample; }
  // Indices of the samples that the format cannot encode, with the reasons.
  const std::vector<std::pair<size_t, std::string_view>> &not_encodable() const { return not_encodable_; }

 private:
  struct Range {
    size_t begin, end;  // range in text_
  };
  struct Message {
    Range value, key;
    int64_t time_ms;
    size_t sample;
  };
  std::string_view cut(Range range) const { return std::string_view(text_).substr(range.begin, range.end - range.begin); }
  Range append_key(const atalaya_sample &sample);
  void append_value(const atalaya_sample &sample, size_t index);
  uint64_t series_hash(const atalaya_sample &sample);

  MessageConfig config_;
  core::NameOf name_of_;
  uint32_t host_key_;
  std::unique_ptr<core::Encoder> encoder_;
  io::PerName<uint64_t> name_hashes_;
  std::string text_;
  std::vector<Message> messages_;
  std::vector<std::pair<size_t, std::string_view>> not_encodable_;
};

}  // namespace atalaya::kafka_sink
