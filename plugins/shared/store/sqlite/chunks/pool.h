// SPDX-License-Identifier: Apache-2.0
// Chunks of many short-lived entities in one row. Such a chunk is mostly head, and the heads are nearly equal. The bytes, as in
// chunk_format.h: - `head`: 4 bytes CRC-32C of the rest; 1 byte format, 2; v number of members; for each v distance to the
// entity of the member   before (the first one: to 0); 4 bytes CRC-32C of `data`. - `data`: a zstd frame with, for each member,
// v size of its head and v size of its data; then the heads of all members, then   the data of all members. Each is a chunk,
// but its head is without the checksums at its begin and its end. Pools of schema 9 have format 1: the two sizes are in `head`
// of the pool, behind the distance of each member, and the heads of members have their checksums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/store/sqlite/chunks/chunk.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace atalaya::store {

// A pool has members of one range of ids, so that a reader finds it by an index. The entity of the pool itself is negative.
constexpr int kPoolBits = 10;
constexpr int64_t pool_of(int64_t entity) {
  return -1 - (entity >> kPoolBits);
}

class ByteReader;

class PoolEncoder {
 public:
  PoolEncoder();
  // Adds a member. Call it in ascending order of the entities.
  void add(int64_t entity, const Chunk &chunk);
  size_t bytes() const { return heads_.size() + datas_.size(); }
  bool empty() const { return count_ == 0; }
  // Encodes the pool of all added members, and starts the next pool.
  void finish(Chunk &pool);

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s *context) const;
  };
  std::unique_ptr<ZSTD_CCtx_s, Free> zstd_;
  std::string members_, sizes_, heads_, datas_;
  size_t count_ = 0;
  int64_t last_entity_ = 0, first_ns_ = 0, last_ns_ = 0;
};

// All functions except the constructor return false, or nothing, if the pool is damaged.
class PoolReader {
 public:
  struct Member {
    int64_t entity = 0;
    std::string_view head, data;          // "" until the data are read; the head without checksums (ChunkReader::open_member)
    size_t head_size = 0, data_size = 0;  // stored sizes
  };

  PoolReader();
  bool open(std::string_view head);
  // The members, sorted by entity.
  std::span<const Member> members() const { return members_; }
  const Member *find(int64_t entity) const;
  // Unpacks the bytes of all members, which are valid until the next call.
  bool read(std::string_view data);

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s *context) const;
  };
  static void read_sizes(ByteReader &reader, Member &member);
  bool unpack(std::string_view data);

  std::unique_ptr<ZSTD_DCtx_s, Free> zstd_;
  std::vector<Member> members_;
  uint8_t format_ = 0;
  uint32_t data_crc_ = 0;
  std::string raw_;
};

}  // namespace atalaya::store
