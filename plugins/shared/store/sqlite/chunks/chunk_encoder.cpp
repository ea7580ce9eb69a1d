// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/chunks/chunk_encoder.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <new>
#include <numeric>
#include <utility>

#include "core/base/encode/crc32c.h"
#include "plugins/shared/store/sqlite/chunks/block_ends.h"

namespace atalaya::store {
namespace {

constexpr int64_t kExact = int64_t{1} << 53;
constexpr size_t kWorthPacking = 16;  // bytes
constexpr int kLevel = 3;
constexpr size_t kQuickPoints = 256;  // fewer are often the only ones of a process

void put_signed(std::string &out, int64_t value) {
  put_varint(out, zigzag(value));
}
template <class T>
void put_raw(std::string &out, T value) {
  out.append(reinterpret_cast<const char *>(&value), sizeof(value));
}

size_t width_of(uint64_t greatest) {
  return (static_cast<size_t>(std::bit_width(greatest)) + 7) / 8;
}

// std::nearbyint without a call: a sum with so large a number has no place for a fraction.
double rounded(double value) {
  constexpr double kLarge = 0x1.8p52;
  return std::abs(value) < 0x1p51 ? value + kLarge - kLarge : std::nearbyint(value);
}

// The value shifted by this number of decimals, if it is an integer and shifts back to the same value.
bool shifted(double value, uint8_t decimals, int64_t &result) {
  const double large = value * kTens.at(decimals);
  if (!(std::abs(large) <= static_cast<double>(kExact))) return false;
  result = static_cast<int64_t>(rounded(large));
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

// The size of values that are coded by their frequencies, at least.
double bytes_by_frequency(const std::array<size_t, 256> &counts) {
  const auto all = static_cast<double>(std::accumulate(counts.begin(), counts.end(), size_t{0}));
  double bits = 0;
  for (const size_t count : counts)
    if (count > 0) bits += static_cast<double>(count) * std::log2(all / static_cast<double>(count));
  return bits / 8;
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

void ChunkEncoder::encode(std::span<const Column> columns, Chunk &chunk, Effort effort) {
  effort_ = effort;
  head_.clear();
  small_.clear();
  large_.clear();
  timelines_.clear();
  chunk.first_ns = INT64_MAX;
  chunk.last_ns = INT64_MIN;
  std::vector<size_t> column_timeline;
  for (const Column &column : columns) {
    column_timeline.push_back(timeline_of(column));
    chunk.first_ns = std::min(chunk.first_ns, column.times_ns.front());
    chunk.last_ns = std::max(chunk.last_ns, column.times_ns.back());
  }
  head_ += static_cast<char>(kFormat);
  put_varint(head_, timelines_.size());
  for (const Timeline &timeline : timelines_) put_timeline(timeline);
  put_varint(head_, columns.size());
  int64_t previous = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    const bool same_timeline = i > 0 && column_timeline[i] == column_timeline[i - 1];
    put_varint(head_, static_cast<uint64_t>(columns[i].metric - previous) << 1 | (same_timeline ? 1 : 0));
    previous = columns[i].metric;
    if (!same_timeline) put_varint(head_, column_timeline[i]);
    put_column(columns[i], timelines_[column_timeline[i]]);
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
    if (timelines_[i].column->times_ns == column.times_ns && timelines_[i].column->durations_ns == column.durations_ns) return i;
  timelines_.push_back({&column, block_ends(column.times_ns)});
  return timelines_.size() - 1;
}

// Distances and durations, as runs of equal ones: a series without gaps is two runs.
void ChunkEncoder::put_timeline(const Timeline &timeline) {
  const Column &column = *timeline.column;
  integers_.resize(column.size() - 1);
  for (size_t i = 0; i < integers_.size(); ++i) integers_[i] = column.times_ns[i + 1] - column.times_ns[i];
  int64_t unit = 0, before = 0;
  for (const int64_t distance : integers_) {
    if (distance != before) unit = std::gcd(unit, distance);
    before = distance;
  }
  unit = std::max<int64_t>(unit, 1);
  std::string &raw = segment_.raw;
  raw.clear();
  each_run(std::span<const int64_t>(integers_), [&](size_t count, int64_t distance) {
    put_varint(raw, count);
    put_varint(raw, static_cast<uint64_t>(distance / unit));
  });
  each_run(std::span(column.durations_ns), [&](size_t count, int64_t duration) {
    put_varint(raw, count);
    put_signed(raw, duration);
  });
  put_varint(head_, column.size());
  put_signed(head_, column.times_ns.front());
  put_varint(head_, static_cast<uint64_t>(column.times_ns.back()) - static_cast<uint64_t>(column.times_ns.front()));
  put_varint(head_, static_cast<uint64_t>(unit));
  put_varint(head_, raw.size());
  pack(segment_);
  put_segment(segment_);
  put_blocks(timeline, unit);
}

// Of equal ones in a row only the first, with their number. Nothing is before the first block: its distance is that of the second.
void ChunkEncoder::put_blocks(const Timeline &timeline, int64_t unit_ns) {
  const std::vector<int64_t> &times = timeline.column->times_ns;
  const auto units = [&](size_t from, size_t to) { return static_cast<uint64_t>((times[to] - times[from]) / unit_ns); };
  std::vector<std::array<uint64_t, 3>> blocks;
  size_t begin = 0;
  for (const size_t end : timeline.block_ends) {
    blocks.push_back({end - begin, begin > 0 ? units(begin - 1, begin) : 0, units(begin, end - 1)});
    begin = end;
  }
  if (blocks.size() > 1) blocks[0][1] = blocks[1][1];
  put_varint(head_, blocks.size());
  each_run(std::span<const std::array<uint64_t, 3>>(blocks), [&](size_t count, const std::array<uint64_t, 3> &block) {
    put_varint(head_, count);
    for (const uint64_t number : block) put_varint(head_, number);
  });
}

void ChunkEncoder::put_column(const Column &column, const Timeline &timeline) {
  const bool is_count = column.values.front().is_count;
  for (const Number &value : column.values)
    if (value.is_count != is_count) return put_mixed(column);
  if (to_integers(column)) return put_integers(is_count, timeline);
  put_bits(column, is_count, timeline);
}

bool ChunkEncoder::to_integers(const Column &column) {
  integers_.resize(column.size());
  decimals_ = 0;
  int64_t integer = 0;
  size_t with_fewer = 0;  // values before the one with the most decimals
  for (size_t i = 0; i < column.size(); ++i) {
    const Number &value = column.values[i];
    if (value.is_count) {
      integer = value.count;
    } else {
      while (decimals_ <= kMaxDecimals && !shifted(value.real, decimals_, integer)) {
        ++decimals_;
        with_fewer = i;
      }
      if (decimals_ > kMaxDecimals) return false;
    }
    integers_[i] = integer;
  }
  for (size_t i = 0; i < with_fewer; ++i)
    if (!shifted(column.values[i].real, decimals_, integers_[i])) return false;
  const auto [minimum, maximum] = std::minmax_element(integers_.begin(), integers_.end());
  return *minimum >= *maximum ||
         static_cast<uint64_t>(*maximum) - static_cast<uint64_t>(*minimum) < static_cast<uint64_t>(kMaxDistance);
}

void ChunkEncoder::put_integers(bool is_count, const Timeline &timeline) {
  const auto [minimum, maximum] = std::minmax_element(integers_.begin(), integers_.end());
  const int64_t base = *minimum;
  const auto distance = static_cast<uint64_t>(minus(*maximum, base));
  for (int64_t &integer : integers_) integer = minus(integer, base);
  Codec codec = Codec::plain;
  size_t width = 0;
  if (distance > 0) choose_form(distance, codec, width);
  put_layout(codec, is_count, width, decimals_);
  put_signed(head_, base);
  if (distance == 0) return;
  put_integer_summaries(distance, timeline);
  if (width == kRuns) put_varint(head_, segment_.raw.size());
  put_segment(segment_);
}

void ChunkEncoder::choose_form(uint64_t distance, Codec &codec, size_t &width) {
  const size_t size = integers_.size();
  uint64_t plain_bits = 0, delta_bits = 0, greatest = 0;
  deltas_.resize(size);
  for (size_t i = 0; i < size; ++i) deltas_[i] = i == 0 ? 0 : integers_[i] - integers_[i - 1];
  if (size >= kQuickPoints && choose_runs(codec) && (effort_ == Effort::quick || are_runs_best())) {
    width = kRuns;
    return;
  }
  words_.resize(size);
  for (size_t i = 0; i < size; ++i) {
    words_[i] = zigzag(deltas_[i]);
    plain_bits += static_cast<uint64_t>(std::bit_width(static_cast<uint64_t>(integers_[i])));
    delta_bits += static_cast<uint64_t>(std::bit_width(words_[i]));
    greatest = std::max(greatest, words_[i]);
  }
  const bool is_delta = size > kFew && delta_bits < plain_bits;
  if (!is_delta) {
    greatest = distance;
    for (size_t i = 0; i < size; ++i) words_[i] = static_cast<uint64_t>(integers_[i]);
  }
  codec = is_delta ? Codec::delta : Codec::plain;
  width = width_of(greatest);
  fill_planes(width, segment_.raw);
  pack(segment_);
  const auto try_runs = [&](std::span<const int64_t> integers, Codec of) {
    other_.raw.clear();
    runs_.append(integers, other_.raw);
    pack(other_);
    // Runs are faster to read.
    if (other_.stored().size() + 1 > segment_.stored().size() + (width == kRuns ? 0 : 1)) return;
    std::swap(segment_, other_);
    codec = of;
    width = kRuns;
  };
  try_runs(integers_, Codec::plain);
  if (size > kFew) try_runs(deltas_, Codec::delta);
}

// Without zstd, which costs more than all else. False: a value takes more than a byte, so that zstd is likely to help.
bool ChunkEncoder::choose_runs(Codec &codec) {
  segment_.raw.clear();
  segment_.packed.clear();
  runs_.append(integers_, segment_.raw);
  codec = Codec::plain;
  if (segment_.raw.size() * 4 > integers_.size()) {
    other_.raw.clear();
    other_.packed.clear();
    runs_.append(deltas_, other_.raw);
    if (other_.raw.size() < segment_.raw.size()) {
      std::swap(segment_, other_);
      codec = Codec::delta;
    }
  }
  return segment_.raw.size() <= integers_.size();
}

// Of the chosen runs: planes cannot be smaller where a code of single bytes cannot, and zstd finds no repetition.
bool ChunkEncoder::are_runs_best() {
  std::array<size_t, 256> plain{}, delta{};
  each_run(std::span<const int64_t>(integers_),
           [&](size_t count, int64_t integer) { plain.at(static_cast<uint8_t>(integer)) += count; });
  each_run(std::span<const int64_t>(deltas_),
           [&](size_t count, int64_t step) { delta.at(static_cast<uint8_t>(zigzag(step))) += count; });
  if (static_cast<double>(segment_.raw.size()) > std::min(bytes_by_frequency(plain), bytes_by_frequency(delta))) return false;
  pack(segment_);
  return segment_.stored().size() * 8 >= segment_.raw.size() * 7;
}

void ChunkEncoder::put_integer_summaries(uint64_t distance, const Timeline &timeline) {
  if (timeline.block_ends.empty()) {
    if (integers_.size() <= kFew) return;
    put_varint(head_, static_cast<uint64_t>(integers_.front()));
    put_varint(head_, static_cast<uint64_t>(integers_.back()));
    put_varint(head_, distance);
    put_varint(head_, static_cast<uint64_t>(std::accumulate(integers_.begin(), integers_.end(), int64_t{0})));
    return;
  }
  size_t begin = 0;
  for (const size_t end : timeline.block_ends) {
    put_integer_block(std::span<const int64_t>(integers_).subspan(begin, end - begin));
    begin = end;
  }
}

void ChunkEncoder::put_integer_block(std::span<const int64_t> integers) {
  const auto [minimum, maximum] = std::minmax_element(integers.begin(), integers.end());
  const int64_t base = *minimum;
  const auto put_above = [&](int64_t value) { put_varint(head_, static_cast<uint64_t>(value - base)); };
  put_varint(head_, static_cast<uint64_t>(base));
  put_above(*maximum);
  if (base == *maximum) return;
  put_above(integers.front());
  put_above(integers.back());
  int64_t sum = 0;
  for (const int64_t integer : integers) sum += integer - base;
  put_varint(head_, static_cast<uint64_t>(sum));
}

// One byte for most: codec, whether counts, width, whether decimals follow.
void ChunkEncoder::put_layout(Codec codec, bool is_count, size_t width, uint8_t decimals) {
  head_ += static_cast<char>(static_cast<size_t>(codec) | (is_count ? 4u : 0u) | width << 3 | (decimals > 0 ? 128u : 0u));
  if (decimals > 0) head_ += static_cast<char>(decimals);
}

void ChunkEncoder::put_bits(const Column &column, bool is_count, const Timeline &timeline) {
  words_.clear();
  uint64_t previous = 0, greatest = 0;
  for (const Number &value : column.values) {
    const uint64_t bits = value.bits();
    words_.push_back(bits ^ previous);
    previous = bits;
    greatest = std::max(greatest, words_.back());
  }
  const size_t width = width_of(greatest);
  put_layout(Codec::bits, is_count, width, 0);
  const auto put_summary = [&](size_t begin, size_t end) {
    double sum = 0, minimum = INFINITY, maximum = -INFINITY;
    for (size_t i = begin; i < end; ++i) {
      const double value = column.values[i].as_real();
      sum += value;
      minimum = std::min(minimum, value);
      maximum = std::max(maximum, value);
    }
    for (const double value : {column.values[begin].as_real(), column.values[end - 1].as_real(), minimum, maximum, sum})
      put_raw(head_, value);
  };
  size_t begin = 0;
  for (const size_t end : timeline.block_ends) put_summary(std::exchange(begin, end), end);
  if (timeline.block_ends.empty() && column.size() > kFew) put_summary(0, column.size());
  fill_planes(width, segment_.raw);
  pack(segment_);
  put_segment(segment_);
}

void ChunkEncoder::put_mixed(const Column &column) {
  constexpr size_t width = 8;
  words_.clear();
  for (const Number &value : column.values) words_.push_back(value.bits());
  put_layout(Codec::mixed, false, width, 0);
  fill_planes(width, segment_.raw);
  for (const Number &value : column.values) segment_.raw += static_cast<char>(value.is_count ? 1 : 0);
  pack(segment_);
  put_segment(segment_);
}

// The lowest bytes of all words, then the next ones: equal bytes come to lie side by side.
void ChunkEncoder::fill_planes(size_t width, std::string &raw) const {
  raw.resize(words_.size() * width);
  char *out = raw.data();
  for (size_t plane = 0; plane < width; ++plane)
    for (const uint64_t word : words_) *out++ = static_cast<char>(word >> (8 * plane));
}

void ChunkEncoder::pack(Segment &segment) {
  const std::string &raw = segment.raw;
  std::string &packed = segment.packed;
  packed.clear();
  if (raw.size() < kWorthPacking || effort_ == Effort::plain) return;
  packed.resize(ZSTD_compressBound(raw.size()));
  const size_t size = ZSTD_compress2(zstd_.get(), packed.data(), packed.size(), raw.data(), raw.size());
  const bool is_smaller = ZSTD_isError(size) == 0 && size > kMagic && size - kMagic < raw.size();
  packed.resize(is_smaller ? size : 0);
  packed.erase(0, is_smaller ? kMagic : 0);
}

void ChunkEncoder::put_segment(const Segment &segment) {
  const std::string_view stored = segment.stored();
  put_varint(head_, segment.packed.size());
  if (stored.size() < kSmall) {
    small_ += stored;
  } else {
    large_ += stored;
    put_raw(head_, core::crc32c(stored));
  }
}

}  // namespace atalaya::store
