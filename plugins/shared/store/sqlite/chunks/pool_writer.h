// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "plugins/shared/store/sqlite/chunks/chunk_encoder.h"
#include "plugins/shared/store/sqlite/chunks/chunk_reader.h"
#include "plugins/shared/store/sqlite/chunks/chunk_writer.h"
#include "plugins/shared/store/sqlite/chunks/pool.h"
#include "plugins/shared/store/sqlite/file/database.h"

namespace atalaya::store {

// Puts the points of short-lived entities into pools, or into chunks if a pool would have too few. Converts pools to chunks
// again.
class PoolWriter {
 public:
  PoolWriter(Database &database, ChunkWriter &chunks);

  // Starts an interval whose windows have these times. `is_used` is false if chunks are rolled up one by one: then there are no
  // pools.
  void begin(int64_t first_ns, int64_t last_ns, bool is_used);
  // Whether the entity has few points and is so new that it has no others.
  bool wants(const EntityPoints &entity, int64_t rows);
  // Adds an entity. Call it in ascending order of the ids.
  void add(EntityPoints &&entity);
  void flush();
  // Makes a chunk of each member, in the caller's transaction, while no pool is being filled. False: the pool is damaged, and
  // remains.
  bool dissolve(int64_t pool);
  // Call it after a rollback.
  void forget();

 private:
  bool is_member(int64_t entity);
  void put_member(EntityPoints &entity);
  bool read_members(const Row &pool, std::vector<EntityPoints> &members);
  // Removes points of a member at times at which a chunk of the entity has points, which are newer.
  void remove_replaced(EntityPoints &member);

  ChunkWriter &chunks_;
  Statement find_new_, find_pools_, add_, mark_seen_, read_, newer_, remove_;
  int64_t first_ns_ = 0, last_ns_ = 0;
  bool is_used_ = false;
  int64_t known_pool_ = 0;                      // pool whose members are known
  std::unordered_set<int64_t> members_;         // entities of the pools in the time of the interval
  int64_t pool_ = 0;                            // the pool that is being filled
  std::vector<EntityPoints> waiting_entities_;  // entities that wait until there are enough for a pool
  std::vector<int64_t> pooled_;                 // entities in the pool
  int64_t arrived_ns_ = INT64_MIN;
  PoolEncoder encoder_;
  PoolReader reader_;
  ChunkEncoder chunk_encoder_;
  ChunkReader chunk_reader_;
  Chunk chunk_;
};

}  // namespace atalaya::store
