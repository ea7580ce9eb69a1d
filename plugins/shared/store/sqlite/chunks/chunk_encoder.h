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

struct ZSTD_CCtx_s;

namespace atalaya::store {

class ChunkEncoder {
 public:
  ChunkEncoder();
  // Columns in ascending order of their metric, each with 1 to kMaxChunkPoints points.
  void encode(std::span<const Column> columns, Chunk &chunk);

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s *context) const;
  };

  size_t timeline_of(const Column &column);
  void put_timeline(const Column &column);
  void put_column(const Column &column);
  // Integers that the values are when they are shifted by some decimals; false if they are none.
  bool to_integers(const Column &column);
  void put_layout(Codec codec, bool is_count, size_t width, uint8_t decimals);
  void put_integers(bool is_count);
  void put_bits(const Column &column, bool is_count);
  void put_mixed(const Column &column);
  void put_segment(std::string_view raw);
  std::string_view planes(size_t width);

  std::unique_ptr<ZSTD_CCtx_s, Free> zstd_;
  std::vector<const Column *> timelines_;  // columns whose times others share
  std::string head_, small_, large_, raw_, packed_;
  std::vector<int64_t> integers_;
  std::vector<uint64_t> words_;
  uint8_t decimals_ = 0;
};

}  // namespace atalaya::store
