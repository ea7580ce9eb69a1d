// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/chunks/chunk_reader.h"

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <new>

#include "core/base/encode/crc32c.h"
#include "plugins/shared/store/sqlite/chunks/byte_reader.h"
#include "plugins/shared/store/sqlite/chunks/integer_runs.h"

namespace atalaya::store {

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

void ChunkReader::Free::operator()(ZSTD_DCtx_s *context) const {
  ZSTD_freeDCtx(context);
}

ChunkReader::ChunkReader() : zstd_(ZSTD_createDCtx()) {
  if (!zstd_) throw std::bad_alloc();
}

std::string_view without_checksums(std::string_view head) {
  constexpr size_t size = sizeof(uint32_t);
  return head.size() < 2 * size ? std::string_view{} : head.substr(size, head.size() - 2 * size);
}

bool ChunkReader::open(std::string_view head) {
  begin();
  ByteReader cursor(head);
  const auto crc = cursor.raw<uint32_t>();
  if (!cursor.is_ok() || crc != core::crc32c(cursor.rest()) || !read_head(cursor)) return false;
  small_crc_ = cursor.raw<uint32_t>();
  return cursor.is_ok() && cursor.at_end();
}

bool ChunkReader::open_member(std::string_view head) {
  begin();
  small_checked_ = true;
  ByteReader cursor(head);
  return read_head(cursor) && cursor.is_ok() && cursor.at_end();
}

void ChunkReader::begin() {
  data_ = {};
  small_size_ = large_size_ = 0;
  small_checked_ = false;
}

bool ChunkReader::read_head(ByteReader &cursor) {
  format_ = cursor.byte();
  if (format_ < kOldestFormat || format_ > kFormat) return false;
  blocks_.clear();
  timelines_.resize(cursor.size(cursor.remaining()));
  for (Timeline &timeline : timelines_)
    if (!read_timeline(cursor, timeline)) return false;
  parts_.resize(cursor.size(cursor.remaining()));
  int64_t metric = 0;
  for (Part &part : parts_) {
    const size_t step = cursor.size(UINT32_MAX);
    const bool is_first = &part == parts_.data(), same_timeline = (step & 1) != 0;
    if (!is_first && step < 2) return false;
    part.metric = metric += static_cast<int64_t>(step >> 1);
    part.timeline = !same_timeline ? cursor.size(UINT32_MAX) : is_first ? 0 : (&part - 1)->timeline;
    if (!read_part(cursor, part)) return false;
  }
  return true;
}

bool ChunkReader::read_timeline(ByteReader &head, Timeline &timeline) {
  timeline.is_read = false;
  timeline.window_ns.reset();
  timeline.count = head.size(kMaxChunkPoints);
  timeline.first_ns = head.signed_varint();
  timeline.last_ns = plus(timeline.first_ns, static_cast<int64_t>(head.varint()));
  timeline.unit_ns = static_cast<int64_t>(head.size(INT64_MAX));
  timeline.segment.raw = head.size(kMaxChunkPoints * 40);
  read_segment(head, timeline.segment);
  timeline.blocks.clear();
  if (!head.is_ok() || timeline.count == 0 || timeline.last_ns < timeline.first_ns) return false;
  return format_ == kOldestFormat || read_blocks(head, timeline);
}

bool ChunkReader::read_blocks(ByteReader &head, Timeline &timeline) {
  timeline.blocks.resize(head.size(std::min(kMaxBlocks, timeline.count)));
  int64_t time_ns = timeline.first_ns;
  const auto add = [&](uint64_t units) {
    int64_t distance = 0;
    return units <= INT64_MAX && !__builtin_mul_overflow(static_cast<int64_t>(units), timeline.unit_ns, &distance) &&
           !__builtin_add_overflow(time_ns, distance, &time_ns);
  };
  size_t begin = 0, same = 0, count = 0;
  uint64_t gap = 0, length = 0;
  for (Block &block : timeline.blocks) {
    if (same == 0) {
      same = head.size(timeline.blocks.size());
      count = head.size(timeline.count);
      gap = head.varint();
      length = head.varint();
    }
    if (same-- == 0 || count == 0 || count > timeline.count - begin || (begin > 0 && !add(gap))) return false;
    block = {begin, begin + count, {}};
    block.summary.count = static_cast<int64_t>(count);
    block.summary.first_ns = time_ns;
    if (!add(length)) return false;
    block.summary.last_ns = time_ns;
    begin += count;
  }
  return timeline.blocks.empty() || (begin == timeline.count && time_ns == timeline.last_ns && head.is_ok());
}

void ChunkReader::read_segment(ByteReader &head, Segment &segment) {
  const size_t packed = head.size(UINT32_MAX);
  segment.packed = packed > 0;
  segment.stored = segment.packed ? packed : segment.raw;
  segment.small = segment.stored < kSmall;
  if (!segment.small) segment.crc = head.raw<uint32_t>();
  size_t &area = segment.small ? small_size_ : large_size_;
  segment.begin = area;
  area += segment.stored;
}

bool ChunkReader::read_part(ByteReader &head, Part &part) {
  if (!head.is_ok() || part.timeline >= timelines_.size()) return false;
  const Timeline &timeline = timelines_[part.timeline];
  part.has_summary = false;
  part.summary = {};
  part.first_block = part.blocks = 0;
  part.summary.count = static_cast<int64_t>(timeline.count);
  part.summary.first_ns = timeline.first_ns;
  part.summary.last_ns = timeline.last_ns;
  const uint8_t layout = head.byte();
  part.codec = static_cast<Codec>(layout & 3);
  part.is_count = (layout & 4) != 0;
  part.width = layout >> 3 & 15;
  part.decimals = (layout & 128) != 0 ? head.byte() : 0;
  const bool is_integer = part.codec == Codec::plain || part.codec == Codec::delta;
  const bool has_runs = part.width == kRuns && is_integer && format_ > kOldestFormat;
  if ((part.width > 8 && !has_runs) || part.decimals > kMaxDecimals) return false;
  if (part.codec == Codec::mixed && part.width != 8) return false;
  if (!read_summary(head, part)) return false;
  part.segment.raw = has_runs ? head.size(kMaxChunkPoints * 16) : timeline.count * (part.codec == Codec::mixed ? 9 : part.width);
  if (part.width > 0) read_segment(head, part.segment);
  return head.is_ok();
}

bool ChunkReader::read_summary(ByteReader &head, Part &part) {
  Summary &summary = part.summary;
  const bool is_integer = part.codec == Codec::plain || part.codec == Codec::delta;
  if (is_integer) part.base = head.signed_varint();
  const double shift = kTens.at(part.decimals);
  if (part.width == 0) {
    const double value = is_integer ? static_cast<double>(part.base) / shift : 0;
    summary.first = summary.last = summary.min = summary.max = value;
    summary.sum = is_integer ? static_cast<double>(part.base) * static_cast<double>(summary.count) / shift : 0;
    part.has_summary = true;
    return head.is_ok();
  }
  if (part.codec == Codec::mixed) return true;
  if (const Timeline &timeline = timelines_[part.timeline]; !timeline.blocks.empty())
    return read_block_summaries(head, part, timeline);
  if (summary.count <= static_cast<int64_t>(kFew)) return part.codec != Codec::delta;
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
  return head.is_ok();
}

bool ChunkReader::read_block_summaries(ByteReader &head, Part &part, const Timeline &timeline) {
  const bool is_integer = part.codec != Codec::bits;
  const double shift = kTens.at(part.decimals);
  part.first_block = blocks_.size();
  part.blocks = timeline.blocks.size();
  const int64_t base = part.base;
  for (const Block &times : timeline.blocks) {
    Summary &summary = blocks_.emplace_back(times).summary;
    if (!is_integer) {
      for (double *value : {&summary.first, &summary.last, &summary.min, &summary.max, &summary.sum}) *value = head.raw<double>();
      continue;
    }
    const uint64_t above = head.varint(), distance = head.varint();
    const uint64_t first = distance == 0 ? 0 : head.varint(), last = distance == 0 ? 0 : head.varint();
    const uint64_t sum = distance == 0 ? 0 : head.varint();
    if (std::max({above, first, last, distance}) >= static_cast<uint64_t>(kMaxDistance) || sum > INT64_MAX) return false;
    const int64_t minimum = plus(base, static_cast<int64_t>(above));
    const auto real = [&](uint64_t more) { return static_cast<double>(plus(minimum, static_cast<int64_t>(more))) / shift; };
    summary.first = real(first);
    summary.last = real(last);
    summary.min = real(0);
    summary.max = real(distance);
    summary.sum = (static_cast<double>(minimum) * static_cast<double>(summary.count) + static_cast<double>(sum)) / shift;
    if (part.codec == Codec::delta && times.begin == 0) part.base = plus(minimum, static_cast<int64_t>(first));
  }
  const auto all = std::span<const Block>(blocks_).subspan(part.first_block);
  Summary &summary = part.summary;
  summary.first = all.front().summary.first;
  summary.last = all.back().summary.last;
  summary.min = all.front().summary.min;
  summary.max = all.front().summary.max;
  for (const Block &block : all) {
    summary.min = std::min(summary.min, block.summary.min);
    summary.max = std::max(summary.max, block.summary.max);
    summary.sum += block.summary.sum;
  }
  part.has_summary = true;
  return head.is_ok();
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

int64_t ChunkReader::window_ns(const Part &part) {
  Timeline &timeline = timelines_[part.timeline];
  if (!timeline.window_ns) timeline.window_ns = read_window(timeline);
  return *timeline.window_ns;
}

int64_t ChunkReader::read_window(const Timeline &timeline) {
  const auto raw = bytes(timeline.segment);
  if (!raw) return 0;
  ByteReader cursor(*raw);
  int64_t shortest = INT64_MAX;  // distance
  for (size_t i = 1; i < timeline.count;) {
    const size_t run = cursor.size(timeline.count - i);
    int64_t distance = 0;
    if (run == 0 || __builtin_mul_overflow(static_cast<int64_t>(cursor.size(INT64_MAX)), timeline.unit_ns, &distance)) return 0;
    shortest = std::min(shortest, distance);
    i += run;
  }
  const size_t run = cursor.size(timeline.count);
  const int64_t length = cursor.signed_varint();
  const bool are_equal = cursor.is_ok() && cursor.at_end() && run == timeline.count;
  return are_equal && length > 0 && length <= shortest ? length : 0;
}

bool ChunkReader::read_times(Timeline &timeline) {
  const auto raw = bytes(timeline.segment);
  if (!raw) return false;
  ByteReader cursor(*raw);
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
  const auto is_block = [&](const Block &block) {
    return times[block.begin] == block.summary.first_ns && times[block.end - 1] == block.summary.last_ns;
  };
  return cursor.is_ok() && cursor.at_end() && time_ns == timeline.last_ns &&
         std::all_of(timeline.blocks.begin(), timeline.blocks.end(), is_block);
}

bool ChunkReader::read_words(std::string_view raw, const Part &part) {
  const auto count = static_cast<size_t>(part.summary.count);
  words_.resize(count);
  return part.width == kRuns ? read_integer_runs(raw, words_) : read_planes(raw, part.width, count);
}

bool ChunkReader::read_planes(std::string_view planes, size_t width, size_t count) {
  if (planes.size() < width * count) return false;
  if (width == 0) std::fill(words_.begin(), words_.end(), 0);
  for (size_t plane = 0; plane < width; ++plane) {
    const char *from = planes.data() + plane * count;
    uint64_t *to = words_.data();
    if (plane == 0) {
      for (size_t i = 0; i < count; ++i) to[i] = static_cast<unsigned char>(from[i]);
    } else {
      for (size_t i = 0; i < count; ++i) to[i] |= static_cast<uint64_t>(static_cast<unsigned char>(from[i])) << (8 * plane);
    }
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
  if (!read_words(planes, part)) return false;

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
    if (part.width == kRuns) {
      for (uint64_t &word : words_) word = static_cast<uint64_t>(value = plus(value, static_cast<int64_t>(word)));
    } else {
      for (uint64_t &word : words_) word = static_cast<uint64_t>(value = plus(value, unzigzag(word)));
    }
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
    const uint64_t *from = words_.data();
    double *to = out.reals.data();
    for (size_t i = 0; i < count; ++i) to[i] = static_cast<double>(static_cast<int64_t>(from[i])) / shift;
  }
  return true;
}

std::optional<std::vector<Column>> columns_of(ChunkReader &chunk) {
  std::vector<Column> columns;
  Values values;
  for (const Part &part : chunk.parts()) {
    const Times *times = chunk.times(part);
    if (times == nullptr || !chunk.values(part, values)) return std::nullopt;
    Column &column = columns.emplace_back(Column{part.metric, times->times_ns, times->durations_ns, {}});
    for (size_t i = 0; i < column.size(); ++i) column.values.push_back(values.at(i));
  }
  return columns;
}

Column without(const Column &column, ChunkReader &chunk) {
  const Part *part = chunk.find(column.metric);
  const Times *times = part == nullptr ? nullptr : chunk.times(*part);
  if (times == nullptr) return column;
  Column rest;
  rest.metric = column.metric;
  for (size_t i = 0; i < column.size(); ++i)
    if (!std::binary_search(times->times_ns.begin(), times->times_ns.end(), column.times_ns[i]))
      rest.add(column.times_ns[i], column.durations_ns[i], column.values[i]);
  return rest;
}

}  // namespace atalaya::store
