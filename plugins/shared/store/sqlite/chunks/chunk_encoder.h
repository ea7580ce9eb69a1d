// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/store/sqlite/chunks/chunk.h"
#include "plugins/shared/store/sqlite/chunks/chunk_format.h"
#include "plugins/shared/store/sqlite/chunks/integer_runs.h"

struct ZSTD_CCtx_s;

namespace atalaya::store {

// How much chunks are compressed. quick: for chunks that are joined later, which are a little larger until then. plain: not at
// all, because the chunks are compressed later, together with others.
enum class Effort { full, quick, plain };

class ChunkEncoder {
 public:
  ChunkEncoder();
  // Encodes columns in ascending order of their metric, each with 1 to kMaxChunkPoints points.
  void encode(std::span<const Column> columns, Chunk &chunk, Effort effort = Effort::full);

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s *context) const;
  };
  // Columns with the same times, and the ends of the blocks of their points; none if there is one block.
  struct Timeline {
    const Column *column = nullptr;
    std::vector<size_t> block_ends;
  };
  struct Segment {
    std::string raw, packed;  // packed: "" if it is not smaller
    std::string_view stored() const { return packed.empty() ? raw : packed; }
  };

  size_t timeline_of(const Column &column);
  void put_timeline(const Timeline &timeline);
  void put_blocks(const Timeline &timeline, int64_t unit_ns);
  void put_column(const Column &column, const Timeline &timeline);
  // Converts the values to integers by shifting decimals; false if that is impossible.
  bool to_integers(const Column &column);
  void put_layout(Codec codec, bool is_count, size_t width, uint8_t decimals);
  void put_integers(bool is_count, const Timeline &timeline);
  // Sets the smallest form of the integers, relative to the minimum.
  void choose_form(uint64_t distance, Codec &codec, size_t &width);
  bool choose_runs(Codec &codec);
  bool are_runs_best();
  void put_integer_summaries(uint64_t distance, const Timeline &timeline);
  void put_integer_block(std::span<const int64_t> integers);
  void put_bits(const Column &column, bool is_count, const Timeline &timeline);
  void put_mixed(const Column &column);
  void fill_planes(size_t width, std::string &raw) const;
  void pack(Segment &segment);
  void put_segment(const Segment &segment);

  std::unique_ptr<ZSTD_CCtx_s, Free> zstd_;
  std::vector<Timeline> timelines_;
  std::string head_, small_, large_;
  std::vector<int64_t> integers_, deltas_;
  std::vector<uint64_t> words_;
  IntegerRuns runs_;
  Segment segment_, other_;
  uint8_t decimals_ = 0;
  Effort effort_ = Effort::full;
};

}  // namespace atalaya::store
