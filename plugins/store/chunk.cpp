// SPDX-License-Identifier: Apache-2.0
#include "plugins/store/chunk.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "core/sample/crc32c.h"

namespace atalaya::store {
namespace {

constexpr uint8_t kFormat = 1;
constexpr uint8_t kMaxDecimals = 9;
constexpr size_t kFew = 4;  // points that need no summary
constexpr int64_t kExact = int64_t{1} << 53;
// Integers further apart are kept as bits: so that no distance and no sum of kMaxChunkPoints of them overflows.
constexpr int64_t kMaxDistance = int64_t{1} << 46;
constexpr size_t kMagic = 4;          // the first bytes of every zstd frame, which say nothing
constexpr size_t kWorthPacking = 16;  // bytes
constexpr size_t kSmall = 64;         // bytes of a segment; smaller ones have a checksum together
constexpr int kLevel = 3;
constexpr std::array<double, kMaxDecimals + 1> kTens = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};

void put_varint(std::string &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}
uint64_t zigzag(int64_t value) {
  return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
}
int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1 ^ -(value & 1));
}
void put_signed(std::string &out, int64_t value) {
  put_varint(out, zigzag(value));
}
template <class T>
void put_raw(std::string &out, T value) {
  out.append(reinterpret_cast<const char *>(&value), sizeof(value));
}

// Sums and differences of foreign numbers: they wrap and do not trap.
int64_t plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t minus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

uint64_t bits_of(const Number &value) {
  return value.is_count ? static_cast<uint64_t>(value.count) : std::bit_cast<uint64_t>(value.real);
}
size_t width_of(uint64_t greatest) {
  return (static_cast<size_t>(std::bit_width(greatest)) + 7) / 8;
}

// The integer that the value is after a shift by so many decimals, if that gives the very same value back.
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

void Column::clear() {
  times_ns.clear();
  durations_ns.clear();
  values.clear();
}

void Column::add(int64_t time_ns, int64_t duration_ns, const Number &value) {
  if (!times_ns.empty() && times_ns.back() == time_ns) {
    durations_ns.back() = duration_ns;
    values.back() = value;
    return;
  }
  times_ns.push_back(time_ns);
  durations_ns.push_back(duration_ns);
  values.push_back(value);
}

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

Number Values::at(size_t i) const {
  Number number;
  number.is_count = is_count.empty() ? !counts.empty() : is_count[i];
  if (number.is_count) {
    number.count = counts[i];
  } else {
    number.real = reals[i];
  }
  return number;
}

// Reads the head; after the first thing that is wrong it gives zeroes.
class ChunkReader::Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}
  bool good() const { return good_; }
  bool at_end() const { return bytes_.empty(); }
  size_t left() const { return bytes_.size(); }

  uint8_t byte() { return raw<uint8_t>(); }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint8_t part = byte();
      value |= static_cast<uint64_t>(part & 0x7f) << shift;
      if (part < 0x80) return value;
    }
    good_ = false;
    return 0;
  }
  int64_t signed_varint() { return unzigzag(varint()); }
  // A size or count of at most `most`.
  size_t size(uint64_t most) {
    const uint64_t value = varint();
    if (value > most) good_ = false;
    return good_ ? static_cast<size_t>(value) : 0;
  }
  template <class T>
  T raw() {
    T value{};
    if (bytes_.size() < sizeof(T)) {
      good_ = false;
      bytes_ = {};
      return value;
    }
    std::memcpy(&value, bytes_.data(), sizeof(T));
    bytes_.remove_prefix(sizeof(T));
    return value;
  }

 private:
  std::string_view bytes_;
  bool good_ = true;
};

void ChunkReader::Free::operator()(ZSTD_DCtx_s *context) const {
  ZSTD_freeDCtx(context);
}

ChunkReader::ChunkReader() : zstd_(ZSTD_createDCtx()) {
  if (!zstd_) throw std::bad_alloc();
}

bool ChunkReader::open(std::string_view head) {
  data_ = {};
  small_size_ = large_size_ = 0;
  small_checked_ = false;
  Cursor cursor(head);
  const auto crc = cursor.raw<uint32_t>();
  if (!cursor.good() || crc != core::crc32c(head.substr(sizeof(crc))) || cursor.byte() != kFormat) return false;
  timelines_.resize(cursor.size(cursor.left()));
  for (Timeline &timeline : timelines_)
    if (!read_timeline(cursor, timeline)) return false;
  parts_.resize(cursor.size(cursor.left()));
  int64_t metric = 0;
  for (Part &part : parts_) {
    const size_t step = cursor.size(UINT32_MAX);
    const bool is_first = &part == parts_.data(), same_timeline = (step & 1) != 0;
    if (!is_first && step < 2) return false;
    part.metric = metric += static_cast<int64_t>(step >> 1);
    part.timeline = !same_timeline ? cursor.size(UINT32_MAX) : is_first ? 0 : (&part - 1)->timeline;
    if (!read_part(cursor, part)) return false;
  }
  small_crc_ = cursor.raw<uint32_t>();
  return cursor.good() && cursor.at_end();
}

bool ChunkReader::read_timeline(Cursor &head, Timeline &timeline) {
  timeline.is_read = false;
  timeline.count = head.size(kMaxChunkPoints);
  timeline.first_ns = head.signed_varint();
  timeline.last_ns = plus(timeline.first_ns, static_cast<int64_t>(head.varint()));
  timeline.unit_ns = static_cast<int64_t>(head.size(INT64_MAX));
  timeline.segment.raw = head.size(kMaxChunkPoints * 40);
  read_segment(head, timeline.segment);
  return head.good() && timeline.count > 0 && timeline.last_ns >= timeline.first_ns;
}

void ChunkReader::read_segment(Cursor &head, Segment &segment) {
  const size_t packed = head.size(UINT32_MAX);
  segment.packed = packed > 0;
  segment.stored = segment.packed ? packed : segment.raw;
  segment.small = segment.stored < kSmall;
  if (!segment.small) segment.crc = head.raw<uint32_t>();
  size_t &area = segment.small ? small_size_ : large_size_;
  segment.begin = area;
  area += segment.stored;
}

bool ChunkReader::read_part(Cursor &head, Part &part) {
  if (!head.good() || part.timeline >= timelines_.size()) return false;
  const Timeline &timeline = timelines_[part.timeline];
  part.has_summary = false;
  part.summary = {};
  part.summary.count = static_cast<int64_t>(timeline.count);
  part.summary.first_ns = timeline.first_ns;
  part.summary.last_ns = timeline.last_ns;
  const uint8_t layout = head.byte();
  part.codec = static_cast<Codec>(layout & 3);
  part.is_count = (layout & 4) != 0;
  part.width = layout >> 3 & 15;
  part.decimals = (layout & 128) != 0 ? head.byte() : 0;
  if (part.width > 8 || part.decimals > kMaxDecimals) return false;
  if (part.codec == Codec::mixed && part.width != 8) return false;
  if (!read_summary(head, part)) return false;
  part.segment.raw = timeline.count * (part.codec == Codec::mixed ? 9 : part.width);
  if (part.width > 0) read_segment(head, part.segment);
  return head.good();
}

bool ChunkReader::read_summary(Cursor &head, Part &part) {
  Summary &summary = part.summary;
  const bool is_integer = part.codec == Codec::plain || part.codec == Codec::delta;
  if (is_integer) part.base = head.signed_varint();
  const double shift = kTens.at(part.decimals);
  if (part.width == 0) {
    const double value = is_integer ? static_cast<double>(part.base) / shift : 0;
    summary.first = summary.last = summary.min = summary.max = value;
    summary.sum = is_integer ? static_cast<double>(part.base) * static_cast<double>(summary.count) / shift : 0;
    part.has_summary = true;
    return head.good();
  }
  if (part.codec == Codec::mixed || summary.count <= static_cast<int64_t>(kFew)) return part.codec != Codec::delta;
  part.has_summary = true;
  if (is_integer) {
    const uint64_t first = head.varint(), last = head.varint(), distance = head.varint(), sum = head.varint();
    if (std::max({first, last, distance}) >= static_cast<uint64_t>(kMaxDistance) || sum > INT64_MAX) return false;
    const auto real = [&](uint64_t above) { return static_cast<double>(plus(part.base, static_cast<int64_t>(above))) / shift; };
    summary.first = real(first);
    summary.last = real(last);
    summary.min = real(0);
    summary.max = real(distance);
    summary.sum = (static_cast<double>(part.base) * static_cast<double>(summary.count) + static_cast<double>(sum)) / shift;
    if (part.codec == Codec::delta) part.base = plus(part.base, static_cast<int64_t>(first));
  } else {
    for (double *value : {&summary.first, &summary.last, &summary.min, &summary.max, &summary.sum}) *value = head.raw<double>();
  }
  return head.good();
}

const Part *ChunkReader::find(int64_t metric) const {
  const auto part = std::lower_bound(parts_.begin(), parts_.end(), metric, [](const Part &a, int64_t b) { return a.metric < b; });
  return part != parts_.end() && part->metric == metric ? &*part : nullptr;
}

std::optional<std::string_view> ChunkReader::bytes(const Segment &segment) {
  if (data_.size() != small_size_ + large_size_) return std::nullopt;
  if (segment.small && !small_checked_) small_checked_ = core::crc32c(data_.substr(0, small_size_)) == small_crc_;
  const std::string_view stored = data_.substr((segment.small ? 0 : small_size_) + segment.begin, segment.stored);
  if (segment.small ? !small_checked_ : core::crc32c(stored) != segment.crc) return std::nullopt;
  if (!segment.packed) return stored;
  frame_.assign("\x28\xb5\x2f\xfd", kMagic);
  frame_ += stored;
  raw_.resize(segment.raw);
  const size_t size = ZSTD_decompressDCtx(zstd_.get(), raw_.data(), raw_.size(), frame_.data(), frame_.size());
  if (size != segment.raw) return std::nullopt;
  return raw_;
}

const Times *ChunkReader::times(const Part &part) {
  Timeline &timeline = timelines_[part.timeline];
  if (!timeline.is_read) timeline.is_read = read_times(timeline);
  return timeline.is_read ? &timeline.times : nullptr;
}

bool ChunkReader::read_times(Timeline &timeline) {
  const auto raw = bytes(timeline.segment);
  if (!raw) return false;
  Cursor cursor(*raw);
  std::vector<int64_t> &times = timeline.times.times_ns, &durations = timeline.times.durations_ns;
  times.resize(timeline.count);
  durations.resize(timeline.count);
  int64_t time_ns = times[0] = timeline.first_ns;
  for (size_t i = 1; i < timeline.count;) {
    const size_t run = cursor.size(timeline.count - i);
    const auto units = static_cast<int64_t>(cursor.size(INT64_MAX));
    int64_t distance = 0;
    if (run == 0 || __builtin_mul_overflow(units, timeline.unit_ns, &distance) || distance <= 0) return false;
    for (const size_t end = i + run; i < end; ++i) {
      if (__builtin_add_overflow(time_ns, distance, &time_ns)) return false;
      times[i] = time_ns;
    }
  }
  for (size_t i = 0; i < timeline.count;) {
    const size_t run = cursor.size(timeline.count - i);
    if (run == 0) return false;
    std::fill_n(durations.begin() + static_cast<ptrdiff_t>(i), run, cursor.signed_varint());
    i += run;
  }
  return cursor.good() && cursor.at_end() && time_ns == timeline.last_ns;
}

bool ChunkReader::read_words(std::string_view planes, size_t width, size_t count) {
  if (planes.size() < width * count) return false;
  words_.assign(count, 0);
  for (size_t plane = 0; plane < width; ++plane) {
    const char *from = planes.data() + plane * count;
    for (size_t i = 0; i < count; ++i) words_[i] |= static_cast<uint64_t>(static_cast<unsigned char>(from[i])) << (8 * plane);
  }
  return true;
}

bool ChunkReader::values(const Part &part, Values &out) {
  const auto count = static_cast<size_t>(part.summary.count);
  out.is_count.clear();
  out.counts.clear();
  out.reals.resize(count);
  std::string_view planes;
  if (part.width > 0) {
    const auto raw = bytes(part.segment);
    if (!raw) return false;
    planes = *raw;
  }
  if (!read_words(planes, part.width, count)) return false;

  if (part.codec == Codec::mixed) {
    out.counts.resize(count);
    out.is_count.resize(count);
    for (size_t i = 0; i < count; ++i) {
      out.is_count[i] = planes[8 * count + i] != 0;
      out.counts[i] = static_cast<int64_t>(words_[i]);
      out.reals[i] = out.is_count[i] ? static_cast<double>(out.counts[i]) : std::bit_cast<double>(words_[i]);
    }
    return true;
  }
  if (part.codec == Codec::bits) {
    uint64_t bits = 0;
    for (uint64_t &word : words_) word = bits ^= word;
  } else if (part.codec == Codec::delta) {
    int64_t value = part.base;
    for (uint64_t &word : words_) word = static_cast<uint64_t>(value = plus(value, unzigzag(word)));
  } else {
    for (uint64_t &word : words_) word = static_cast<uint64_t>(plus(part.base, static_cast<int64_t>(word)));
  }
  if (part.is_count) {
    out.counts.resize(count);
    for (size_t i = 0; i < count; ++i) out.counts[i] = static_cast<int64_t>(words_[i]);
    for (size_t i = 0; i < count; ++i) out.reals[i] = static_cast<double>(out.counts[i]);
  } else if (part.codec == Codec::bits) {
    for (size_t i = 0; i < count; ++i) out.reals[i] = std::bit_cast<double>(words_[i]);
  } else {
    const double shift = kTens.at(part.decimals);
    for (size_t i = 0; i < count; ++i) out.reals[i] = static_cast<double>(static_cast<int64_t>(words_[i])) / shift;
  }
  return true;
}

}  // namespace atalaya::store
