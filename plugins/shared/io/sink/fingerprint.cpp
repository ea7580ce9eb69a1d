// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/sink/fingerprint.h"

#include <cstring>
#include <functional>
#include <string_view>

namespace atalaya::io {
namespace {

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
  return hash ^ (hash >> 32);
}
uint64_t hash_of(atalaya_str text) {
  return text.size == 0 ? 0 : std::hash<std::string_view>{}({text.data, text.size});
}
uint64_t hash_of(const atalaya_tag &tag) {
  return mix(tag.key, hash_of(tag.value));
}

}  // namespace

uint64_t series_hash(const atalaya_sample &sample) {
  uint64_t hash = mix(sample.kind, hash_of(sample.text));
  for (uint32_t i = 0; i < sample.tag_count; ++i) hash += hash_of(sample.tags[i]);
  return mix(hash, 0);
}

uint64_t fingerprint(std::span<const atalaya_sample> samples) {
  uint64_t hash = mix(0, samples.size());
  for (const atalaya_sample &sample : samples) {
    hash = mix(hash, series_hash(sample));
    hash = mix(hash, static_cast<uint64_t>(sample.time_ns));
    hash = mix(hash, static_cast<uint64_t>(sample.duration_ns));
    for (uint32_t i = 0; i < sample.field_count; ++i) {
      uint64_t value = 0;
      static_assert(sizeof(value) == sizeof(sample.fields[i].value));
      std::memcpy(&value, &sample.fields[i].value, sizeof(value));
      hash = mix(mix(hash, sample.fields[i].name), value);
    }
  }
  return hash;
}

}  // namespace atalaya::io
