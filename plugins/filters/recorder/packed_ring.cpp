// SPDX-License-Identifier: Apache-2.0
#include "plugins/filters/recorder/packed_ring.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>

namespace atalaya::recorder {
namespace {

// The tag before the number of each field. A rate of 0 needs no number, and most other rates have at most three decimals.
enum Form : uint64_t { kZero, kInteger, kThousandths, kDouble };
constexpr uint64_t kForms = 4;
constexpr double kMaxThousandths = 1e12;

// Zigzag encoding: small positive and negative numbers become small unsigned ones.
uint64_t folded(int64_t value) {
  return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
}
int64_t unfolded(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

class Writer {
 public:
  explicit Writer(std::string &out) : out_(out) {}

  // LEB128: seven bits per byte, the lowest bits first.
  void number(uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }
  void text(const atalaya_str &text) {
    number(text.size);
    if (text.size > 0) out_.append(text.data, text.size);
  }
  void field(const atalaya_field &field) {
    if (field.type == ATALAYA_I64) return put(field, kInteger, folded(field.value.i64));
    const double value = field.value.f64;
    const auto bits = std::bit_cast<uint64_t>(value);
    if (bits == 0) return number(field.name * kForms + kZero);
    if (const double thousandths = std::round(value * 1000); std::abs(thousandths) <= kMaxThousandths) {
      const auto whole = static_cast<int64_t>(thousandths);
      // Other values, such as -0.0, are stored as 64 bits.
      if (std::bit_cast<uint64_t>(static_cast<double>(whole) / 1000) == bits) return put(field, kThousandths, folded(whole));
    }
    number(field.name * kForms + kDouble);
    out_.append(reinterpret_cast<const char *>(&bits), sizeof(bits));
  }

 private:
  void put(const atalaya_field &field, Form form, uint64_t value) {
    number(field.name * kForms + form);
    number(value);
  }

  std::string &out_;
};

// Reads bytes that a Writer wrote.
class Reader {
 public:
  explicit Reader(const std::byte *at) : at_(at) {}

  uint64_t number() {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<uint64_t>(*at_++);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }
  std::string_view text() {
    const size_t size = number();
    const std::string_view text(reinterpret_cast<const char *>(at_), size);
    at_ += size;
    return text;
  }
  atalaya_field field() {
    const uint64_t key = number();
    atalaya_field field{static_cast<uint32_t>(key / kForms), ATALAYA_F64, {}};
    switch (key % kForms) {
      case kInteger:
        field.type = ATALAYA_I64;
        field.value.i64 = unfolded(number());
        break;
      case kThousandths:
        field.value.f64 = static_cast<double>(unfolded(number())) / 1000;
        break;
      case kDouble:
        std::memcpy(&field.value.f64, at_, sizeof(double));
        at_ += sizeof(double);
        break;
      default:
        field.value.f64 = 0;
    }
    return field;
  }

 private:
  const std::byte *at_;
};

}  // namespace

PackedRing::PackedRing(size_t max_bytes) : max_bytes_(max_bytes) {}

// Size of a block; a larger window has a separate block.
size_t PackedRing::next_block_size() const {
  static constexpr size_t kBlock = size_t{64} << 10;
  return std::max(packed_.size(), std::min(kBlock, max_bytes_ / 16));
}

void PackedRing::add_block() {
  if (entries_.empty()) {
    blocks_.clear();
    bytes_ = 0;
  }
  const size_t size = next_block_size();
  blocks_.push_back({std::unique_ptr<std::byte[]>(new std::byte[size]), size});
  bytes_ += size;
}

void PackedRing::append(const Window &window, uint64_t samples) {
  Block &block = blocks_.back();
  std::byte *const to = block.bytes.get() + block.used;
  std::memcpy(to, packed_.data(), packed_.size());
  block.used += packed_.size();
  ++block.entries;
  entries_.push_back({window.time_ns, window.duration_ns, to, samples, false});
}

void PackedRing::pop() {
  entries_.pop_front();
  Block &block = blocks_.front();
  if (--block.entries > 0) return;
  if (blocks_.size() == 1) {
    block.used = 0;
    return;
  }
  bytes_ -= block.size;
  blocks_.pop_front();
}

bool PackedRing::pack(const Window &window, std::span<const Sample> samples) {
  packed_.clear();
  Writer out(packed_);
  for (const Sample &sample : samples) {
    // Most samples have the time of their window; those without a time are stored with it.
    const bool is_of_window = sample.time_ns == 0 || (sample.time_ns == window.time_ns && sample.duration_ns == window.duration_ns);
    out.number(sample.kind * 2 + (is_of_window ? 1 : 0));
    if (!is_of_window) {
      out.number(folded(sample.time_ns));
      out.number(folded(sample.duration_ns));
    }
    out.number(sample.tag_count);
    out.number(sample.field_count);
    for (uint32_t i = 0; i < sample.tag_count; ++i) {
      out.number(sample.tags[i].key);
      out.text(sample.tags[i].value);
    }
    out.text(sample.text);
    for (uint32_t i = 0; i < sample.field_count; ++i) out.field(sample.fields[i]);
    if (packed_.size() > max_bytes_) {
      std::string().swap(packed_);
      return false;
    }
  }
  return true;
}

void PackedRing::append_to(Batch &batch, const RingEntry &entry) const {
  Reader in(entry.bytes);
  for (uint64_t n = 0; n < entry.samples; ++n) {
    const uint64_t kind = in.number();
    const bool is_of_window = kind % 2 != 0;
    const int64_t time_ns = is_of_window ? entry.time_ns : unfolded(in.number());
    const int64_t duration_ns = is_of_window ? entry.duration_ns : unfolded(in.number());
    const auto tags = static_cast<uint32_t>(in.number()), fields = static_cast<uint32_t>(in.number());
    Sample &sample = batch.add(static_cast<uint32_t>(kind / 2), tags, fields);
    sample.time_ns = time_ns;
    sample.duration_ns = duration_ns;
    for (uint32_t i = 0; i < tags; ++i) {
      const auto key = static_cast<uint32_t>(in.number());
      batch.tag(sample, key, in.text());
    }
    sample.text = batch.copy(in.text());
    for (uint32_t i = 0; i < fields; ++i) batch.put(sample, in.field());
  }
}

}  // namespace atalaya::recorder
