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

// Puts the points of entities that lived for a short time into pools, or into chunks where a pool would have too few. Makes chunks
// of pools again.
class PoolWriter {
 public:
  PoolWriter(Database &database, ChunkWriter &chunks);

  // Of a stretch whose windows have these times. `is_used`: false where chunks are rolled up, one by one.
  void begin(int64_t first_ns, int64_t last_ns, bool is_used);
  // Whether it has few points, and is so new that there are no others.
  bool wants(const EntityPoints &entity, int64_t rows);
  // In ascending order of the ids.
  void add(EntityPoints &&entity);
  void flush();
  // Makes a chunk of each member, in the caller's transaction, while no pool is being filled. False: it is damaged, and stays.
  bool dissolve(int64_t pool);
  // After a rollback.
  void forget();

 private:
  bool is_member(int64_t entity);
  void put_member(EntityPoints &entity);
  bool read_members(const Row &pool, std::vector<EntityPoints> &members);
  // Of the same time a point in a chunk of the entity counts: it is newer.
  void remove_replaced(EntityPoints &member);

  ChunkWriter &chunks_;
  Statement find_new_, find_pools_, add_, see_, read_, newer_, remove_;
  int64_t first_ns_ = 0, last_ns_ = 0;
  bool is_used_ = false;
  int64_t known_pool_ = 0;               // whose members are known
  std::unordered_set<int64_t> members_;  // in the time of the stretch
  int64_t pool_ = 0;                     // that is being filled
  std::vector<EntityPoints> few_;        // until they are enough
  std::vector<int64_t> pooled_;          // entities that are in it
  int64_t arrived_ns_ = INT64_MIN;
  PoolEncoder encoder_;
  PoolReader reader_;
  ChunkEncoder chunk_encoder_;
  ChunkReader chunk_reader_;
  Chunk chunk_;
};

}  // namespace atalaya::store
