// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/store/sqlite/chunks/chunk.h"
#include "plugins/shared/store/sqlite/chunks/chunk_encoder.h"
#include "plugins/shared/store/sqlite/chunks/chunk_reader.h"
#include "plugins/shared/store/sqlite/file/database.h"

namespace atalaya::store {

struct EntityPoints {
  int64_t id = 0;
  std::vector<Column> columns;
  int64_t arrived_ns = INT64_MIN;  // arrival time of the last point
};

// Adds points to the table `chunks`. Chunks of an entity do not overlap: if a chunk overlaps the points, a new chunk with both
// replaces it.
class ChunkWriter {
 public:
  explicit ChunkWriter(Database &database);

  // Adds the first points, up to some time, and removes them from `entity`. Subtracts the extra cost from `work`.
  void put_next(EntityPoints &entity, int64_t &work, Effort effort);
  // Adds all points.
  void put(EntityPoints &entity, Effort effort);
  int64_t replaced() const { return static_cast<int64_t>(replaced_.size()); }
  // Deletes chunks whose points are in new chunks. Until then the store contains both.
  void delete_replaced();
  // Call it after a rollback.
  void forget() { replaced_.clear(); }

 private:
  struct OldChunk {
    int64_t id = 0, first_ns = 0, last_ns = 0, arrived_ns = 0;
    std::string head, data;
  };

  std::optional<OldChunk> first_old_chunk(const EntityPoints &entity);
  bool merge(std::vector<Column> &columns, std::string_view head, std::string_view data, int64_t &work);
  void add_chunks(int64_t entity, std::span<Column> columns, int64_t arrived_ns, Effort effort);
  void add_chunk(int64_t entity, std::span<const Column> columns, int64_t arrived_ns, Effort effort);

  Statement old_chunk_, add_chunk_, delete_chunk_, mark_seen_;
  std::vector<int64_t> replaced_;
  ChunkEncoder encoder_;
  ChunkReader reader_;
  Chunk chunk_;
};

}  // namespace atalaya::store
