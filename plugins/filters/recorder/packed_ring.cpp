// SPDX-License-Identifier: Apache-2.0
#include "plugins/filters/recorder/packed_ring.h"

#include <cstring>
#include <string_view>

namespace atalaya::recorder {
namespace {

// Before the texts of its tags, its own text and its fields.
struct Header {
  int64_t time_ns = 0, duration_ns = 0;
  uint32_t kind = 0, tags = 0, fields = 0, text = 0;
};
struct TagHeader {
  uint32_t key = 0, size = 0;
};

class Writer {
 public:
  explicit Writer(std::byte *at) : at_(at) {}
  void put(const void *data, size_t size) {
    if (size > 0) std::memcpy(at_, data, size);
    at_ += size;
  }

 private:
  std::byte *at_;
};

class Reader {
 public:
  explicit Reader(const std::byte *at) : at_(at) {}
  template <class T>
  T get() {
    T value;
    std::memcpy(&value, at_, sizeof(value));
    at_ += sizeof(value);
    return value;
  }
  std::string_view text(size_t size) {
    const std::string_view text(reinterpret_cast<const char *>(at_), size);
    at_ += size;
    return text;
  }

 private:
  const std::byte *at_;
};

}  // namespace

PackedRing::PackedRing(size_t bytes) : size_(bytes), bytes_(new std::byte[bytes]) {}

size_t PackedRing::size_of(std::span<const Sample> samples) {
  size_t size = samples.size() * sizeof(Header);
  for (const Sample &sample : samples) {
    size += sample.field_count * sizeof(atalaya_field) + sample.tag_count * sizeof(TagHeader) + sample.text.size;
    for (uint32_t i = 0; i < sample.tag_count; ++i) size += sample.tags[i].value.size;
  }
  return size;
}

// A sample without a time has that of its window.
void PackedRing::pack(const Window &window, std::span<const Sample> samples, size_t offset) {
  Writer out(bytes_.get() + offset);
  for (const Sample &sample : samples) {
    const bool is_of_window = sample.time_ns == 0;
    const Header header{is_of_window ? window.time_ns : sample.time_ns,
                        is_of_window ? window.duration_ns : sample.duration_ns,
                        sample.kind,
                        sample.tag_count,
                        sample.field_count,
                        static_cast<uint32_t>(sample.text.size)};
    out.put(&header, sizeof(header));
    for (uint32_t i = 0; i < sample.tag_count; ++i) {
      const TagHeader tag{sample.tags[i].key, static_cast<uint32_t>(sample.tags[i].value.size)};
      out.put(&tag, sizeof(tag));
      out.put(sample.tags[i].value.data, tag.size);
    }
    out.put(sample.text.data, header.text);
    out.put(sample.fields, sample.field_count * sizeof(atalaya_field));
  }
}

void PackedRing::append_to(Batch &batch, const RingEntry &entry) const {
  Reader in(bytes_.get() + entry.offset);
  for (uint64_t n = 0; n < entry.samples; ++n) {
    const auto header = in.get<Header>();
    Sample &sample = batch.add(header.kind, header.tags, header.fields);
    sample.time_ns = header.time_ns;
    sample.duration_ns = header.duration_ns;
    for (uint32_t i = 0; i < header.tags; ++i) {
      const auto tag = in.get<TagHeader>();
      batch.tag(sample, tag.key, in.text(tag.size));
    }
    sample.text = batch.copy(in.text(header.text));
    for (uint32_t i = 0; i < header.fields; ++i) batch.put(sample, in.get<atalaya_field>());
  }
}

}  // namespace atalaya::recorder
