// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/chunks/chunk_encoder.h"

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <new>
#include <numeric>

#include "core/base/crc32c.h"

namespace atalaya::store {
namespace {

constexpr int64_t kExact = int64_t{1} << 53;
constexpr size_t kWorthPacking = 16;  // bytes
constexpr int kLevel = 3;

void put_varint(std::string &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}
void put_signed(std::string &out, int64_t value) {
  put_varint(out, zigzag(value));
}
template <class T>
void put_raw(std::string &out, T value) {
  out.append(reinterpret_cast<const char *>(&value), sizeof(value));
}

uint64_t bits_of(const Number &value) {
  return value.is_count ? static_cast<uint64_t>(value.count) : std::bit_cast<uint64_t>(value.real);
}
size_t width_of(uint64_t greatest) {
  return (static_cast<size_t>(std::bit_width(greatest)) + 7) / 8;
}

// The value shifted by this number of decimals, if it is an integer and shifts back to the same value.
bool shifted(double value, uint8_t decimals, int64_t &result) {
  const double large = value * kTens.at(decimals);
  if (!(std::abs(large) <= static_cast<double>(kExact))) return false;
  result = static_cast<int64_t>(std::nearbyint(large));
  return std::bit_cast<uint64_t>(static_cast<double>(result) / kTens.at(decimals)) == std::bit_cast<uint64_t>(value);
}

template <class T, class Emit>
void each_run(std::span<const T> values, Emit &&emit) {
  for (size_t begin = 0; begin < values.size();) {
    size_t end = begin;
    while (end < values.size() && values[end] == values[begin]) ++end;
    emit(end - begin, values[begin]);
    begin = end;
  }
}

}  // namespace

void ChunkEncoder::Free::operator()(ZSTD_CCtx_s *context) const {
  ZSTD_freeCCtx(context);
}

ChunkEncoder::ChunkEncoder() : zstd_(ZSTD_createCCtx()) {
  if (!zstd_) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(zstd_.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(zstd_.get(), ZSTD_c_contentSizeFlag, 0);
}

void ChunkEncoder::encode(std::span<const Column> columns, Chunk &chunk) {
  head_.clear();
  small_.clear();
  large_.clear();
  timelines_.clear();
  chunk.first_ns = INT64_MAX;
  chunk.last_ns = INT64_MIN;
  std::vector<size_t> timeline_of_column;
  for (const Column &column : columns) {
    timeline_of_column.push_back(timeline_of(column));
    chunk.first_ns = std::min(chunk.first_ns, column.times_ns.front());
    chunk.last_ns = std::max(chunk.last_ns, column.times_ns.back());
  }
  head_ += static_cast<char>(kFormat);
  put_varint(head_, timelines_.size());
  for (const Column *column : timelines_) put_timeline(*column);
  put_varint(head_, columns.size());
  int64_t previous = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    const bool same_timeline = i > 0 && timeline_of_column[i] == timeline_of_column[i - 1];
    put_varint(head_, static_cast<uint64_t>(columns[i].metric - previous) << 1 | (same_timeline ? 1 : 0));
    previous = columns[i].metric;
    if (!same_timeline) put_varint(head_, timeline_of_column[i]);
    put_column(columns[i]);
  }
  put_raw(head_, core::crc32c(small_));
  chunk.head.clear();
  put_raw(chunk.head, core::crc32c(head_));
  chunk.head += head_;
  chunk.data = small_;
  chunk.data += large_;
}

size_t ChunkEncoder::timeline_of(const Column &column) {
  for (size_t i = timelines_.size(); i-- > 0;)
    if (timelines_[i]->times_ns == column.times_ns && timelines_[i]->durations_ns == column.durations_ns) return i;
  timelines_.push_back(&column);
  return timelines_.size() - 1;
}

// Distances and durations, as runs of equal ones: a series without gaps is two runs.
void ChunkEncoder::put_timeline(const Column &column) {
  integers_.clear();
  for (size_t i = 1; i < column.size(); ++i) integers_.push_back(column.times_ns[i] - column.times_ns[i - 1]);
  int64_t unit = 0;
  for (const int64_t distance : integers_) unit = std::gcd(unit, distance);
  unit = std::max<int64_t>(unit, 1);
  raw_.clear();
  each_run(std::span<const int64_t>(integers_), [&](size_t count, int64_t distance) {
    put_varint(raw_, count);
    put_varint(raw_, static_cast<uint64_t>(distance / unit));
  });
  each_run(std::span(column.durations_ns), [&](size_t count, int64_t duration) {
    put_varint(raw_, count);
    put_signed(raw_, duration);
  });
  put_varint(head_, column.size());
  put_signed(head_, column.times_ns.front());
  put_varint(head_, static_cast<uint64_t>(column.times_ns.back()) - static_cast<uint64_t>(column.times_ns.front()));
  put_varint(head_, static_cast<uint64_t>(unit));
  put_varint(head_, raw_.size());
  put_segment(raw_);
}

void ChunkEncoder::put_column(const Column &column) {
  const bool is_count = column.values.front().is_count;
  for (const Number &value : column.values)
    if (value.is_count != is_count) return put_mixed(column);
  if (to_integers(column)) return put_integers(is_count);
  put_bits(column, is_count);
}

bool ChunkEncoder::to_integers(const Column &column) {
  integers_.clear();
  decimals_ = 0;
  int64_t integer = 0;
  for (const Number &value : column.values) {
    if (value.is_count) {
      integer = value.count;
    } else {
      while (decimals_ <= kMaxDecimals && !shifted(value.real, decimals_, integer)) ++decimals_;
      if (decimals_ > kMaxDecimals) return false;
    }
    integers_.push_back(integer);
  }
  if (decimals_ > 0) {
    // Those before the one with the most decimals.
    for (size_t i = 0; i < integers_.size(); ++i)
      if (!shifted(column.values[i].real, decimals_, integers_[i])) return false;
  }
  const auto [least, most] = std::minmax_element(integers_.begin(), integers_.end());
  return *least >= *most || static_cast<uint64_t>(*most) - static_cast<uint64_t>(*least) < static_cast<uint64_t>(kMaxDistance);
}

void ChunkEncoder::put_integers(bool is_count) {
  const auto [least, most] = std::minmax_element(integers_.begin(), integers_.end());
  const auto size = integers_.size();
  const int64_t base = *least;
  const auto distance = static_cast<uint64_t>(minus(*most, base));
  uint64_t plain_bits = 0, delta_bits = 0, greatest = 0, sum = 0;
  words_.clear();
  for (size_t i = 0; i < size; ++i) {
    const auto above = static_cast<uint64_t>(minus(integers_[i], base));
    sum += above;
    plain_bits += static_cast<uint64_t>(std::bit_width(above));
    words_.push_back(i == 0 ? 0 : zigzag(minus(integers_[i], integers_[i - 1])));
    delta_bits += static_cast<uint64_t>(std::bit_width(words_.back()));
    greatest = std::max(greatest, words_.back());
  }
  const bool is_delta = size > kFew && delta_bits < plain_bits;
  if (!is_delta) {
    greatest = distance;
    for (size_t i = 0; i < size; ++i) words_[i] = static_cast<uint64_t>(minus(integers_[i], base));
  }
  const size_t width = width_of(greatest);
  put_layout(is_delta ? Codec::delta : Codec::plain, is_count, width, decimals_);
  put_signed(head_, base);
  if (width == 0) return;
  if (size > kFew) {
    put_varint(head_, static_cast<uint64_t>(minus(integers_.front(), base)));
    put_varint(head_, static_cast<uint64_t>(minus(integers_.back(), base)));
    put_varint(head_, distance);
    put_varint(head_, sum);
  }
  put_segment(planes(width));
}

// One byte for most: codec, whether counts, width, whether decimals follow.
void ChunkEncoder::put_layout(Codec codec, bool is_count, size_t width, uint8_t decimals) {
  head_ += static_cast<char>(static_cast<size_t>(codec) | (is_count ? 4u : 0u) | width << 3 | (decimals > 0 ? 128u : 0u));
  if (decimals > 0) head_ += static_cast<char>(decimals);
}

void ChunkEncoder::put_bits(const Column &column, bool is_count) {
  words_.clear();
  uint64_t previous = 0, greatest = 0;
  double sum = 0, least = INFINITY, most = -INFINITY;
  for (const Number &value : column.values) {
    const uint64_t bits = bits_of(value);
    words_.push_back(bits ^ previous);
    previous = bits;
    greatest = std::max(greatest, words_.back());
    sum += value.as_real();
    least = std::min(least, value.as_real());
    most = std::max(most, value.as_real());
  }
  const size_t width = width_of(greatest);
  put_layout(Codec::bits, is_count, width, 0);
  if (column.size() > kFew)
    for (const double value : {column.values.front().as_real(), column.values.back().as_real(), least, most, sum})
      put_raw(head_, value);
  put_segment(planes(width));
}

void ChunkEncoder::put_mixed(const Column &column) {
  constexpr size_t width = 8;
  words_.clear();
  for (const Number &value : column.values) words_.push_back(bits_of(value));
  put_layout(Codec::mixed, false, width, 0);
  planes(width);
  for (const Number &value : column.values) raw_ += static_cast<char>(value.is_count ? 1 : 0);
  put_segment(raw_);
}

// The lowest bytes of all words, then the next ones: equal bytes come to lie side by side.
std::string_view ChunkEncoder::planes(size_t width) {
  raw_.resize(words_.size() * width);
  char *out = raw_.data();
  for (size_t plane = 0; plane < width; ++plane)
    for (const uint64_t word : words_) *out++ = static_cast<char>(word >> (8 * plane));
  return raw_;
}

void ChunkEncoder::put_segment(std::string_view raw) {
  size_t size = 0;
  if (raw.size() >= kWorthPacking) {
    packed_.resize(ZSTD_compressBound(raw.size()));
    size = ZSTD_compress2(zstd_.get(), packed_.data(), packed_.size(), raw.data(), raw.size());
    if (ZSTD_isError(size) != 0) size = 0;
  }
  std::string_view stored = raw;
  if (size > kMagic && size - kMagic < raw.size()) stored = std::string_view(packed_).substr(kMagic, size - kMagic);
  put_varint(head_, stored.data() == raw.data() ? 0 : stored.size());
  if (stored.size() < kSmall) {
    small_ += stored;
  } else {
    large_ += stored;
    put_raw(head_, core::crc32c(stored));
  }
}

}  // namespace atalaya::store
