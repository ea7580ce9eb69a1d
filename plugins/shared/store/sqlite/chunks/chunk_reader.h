// SPDX-License-Identifier: Apache-2.0
// Reads chunks. They come from files, so that no byte is trusted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/store/sqlite/chunks/chunk.h"
#include "plugins/shared/store/sqlite/chunks/chunk_format.h"
#include "plugins/shared/store/sqlite/rows/fields.h"
#include "plugins/shared/store/store.h"

struct ZSTD_DCtx_s;

namespace atalaya::store {

class ByteReader;

// A part of a chunk's data, which starts with all small segments.
struct Segment {
  size_t begin = 0, stored = 0, raw = 0;  // raw: size of the unpacked segment
  bool packed = false;
  bool small = false;  // the segment has no separate checksum
  uint32_t crc = 0;
};

// Consecutive points of a column, with times in one interval.
struct Block {
  size_t begin = 0, end = 0;
  Summary summary;
};

// A column of a chunk, without its points.
struct Part {
  int64_t metric = 0;
  size_t timeline = 0;
  bool has_summary = false;  // columns of few points have no summary
  Summary summary;           // if has_summary is false: only count, first_ns, last_ns
  size_t first_block = 0, blocks = 0;

  Codec codec{};
  bool is_count = false;
  uint8_t decimals = 0, width = 0;
  int64_t base = 0;
  Segment segment;
};

struct Times {
  std::vector<int64_t> times_ns, durations_ns;
};
struct Values {
  std::vector<double> reals;
  std::vector<int64_t> counts;  // one per point, if one of them is a count
  std::vector<bool> is_count;   // one per point, if some are counts and some are reals

  Number at(size_t i) const;
};

// The head of a chunk without the checksums at its start and its end; "" if it is too short.
std::string_view without_checksums(std::string_view head);

// All functions except the constructor return false, or nothing, if the chunk is damaged.
class ChunkReader {
 public:
  ChunkReader();
  // Opens a head. The bytes must outlive the reader.
  bool open(std::string_view head);
  // Opens a head without its checksums, of a chunk whose bytes were already checked. Large segments have their own checksums.
  bool open_member(std::string_view head);
  void set_data(std::string_view data) { data_ = data; }  // call it before the functions below
  std::span<const Part> parts() const { return parts_; }
  const Part *find(int64_t metric) const;
  // The summaries of a long column's blocks, which contain all of its points; none for other columns.
  std::span<const Block> blocks(const Part &part) const { return std::span(blocks_).subspan(part.first_block, part.blocks); }
  const Times *times(const Part &part);
  bool values(const Part &part, Values &out);
  // The length of the column's windows; 0: they differ, overlap, or are instants. Reads no point.
  int64_t window_ns(const Part &part);

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s *context) const;
  };
  struct Timeline {
    size_t count = 0;
    int64_t first_ns = 0, last_ns = 0, unit_ns = 1;
    Segment segment;
    std::vector<Block> blocks;  // blocks without their values
    bool is_read = false;
    Times times;
    std::optional<int64_t> window_ns;  // nothing while it is unknown
  };

  void begin();
  bool read_head(ByteReader &head);
  bool read_timeline(ByteReader &head, Timeline &timeline);
  bool read_blocks(ByteReader &head, Timeline &timeline);
  bool read_part(ByteReader &head, Part &part);
  bool read_summary(ByteReader &head, Part &part);
  bool read_block_summaries(ByteReader &head, Part &part, const Timeline &timeline);
  void read_segment(ByteReader &head, Segment &segment);
  bool read_times(Timeline &timeline);
  int64_t read_window(const Timeline &timeline);
  bool read_words(std::string_view raw, const Part &part);
  bool read_planes(std::string_view planes, size_t width, size_t count);
  // The unpacked bytes of a segment; nothing if they are damaged.
  std::optional<std::string_view> bytes(const Segment &segment);

  std::unique_ptr<ZSTD_DCtx_s, Free> zstd_;
  std::string_view data_;
  size_t small_size_ = 0, large_size_ = 0;  // sizes in the head
  uint32_t small_crc_ = 0;
  bool small_checked_ = false;
  std::vector<Timeline> timelines_;
  std::vector<Part> parts_;
  std::vector<Block> blocks_;  // blocks of all parts
  uint8_t format_ = 0;
  std::vector<uint64_t> words_;
  std::string raw_, frame_;
};

// All points of a chunk; nothing if it is damaged.
std::optional<std::vector<Column>> columns_of(ChunkReader &chunk);
// The points at whose times the chunk has no point of the metric; all of them if it is damaged.
Column without(const Column &column, ChunkReader &chunk);

}  // namespace atalaya::store
