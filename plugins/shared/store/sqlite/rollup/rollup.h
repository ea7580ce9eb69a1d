// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plugins/shared/store/sqlite/chunks/chunk_encoder.h"
#include "plugins/shared/store/sqlite/file/database.h"
#include "plugins/shared/store/sqlite/packing/packer.h"
#include "plugins/shared/store/sqlite/rollup/rollup_points.h"
#include "plugins/shared/store/sqlite/rollup/rollup_tables.h"

namespace atalaya::store {

// A point per step replaces samples that arrived longer ago than `after`.
struct RollupLevel {
  int64_t after_ns = 0, every_ns = 0;
  std::optional<int64_t> retain_ns;  // absent: the limit of all data; 0: no limit
};

// Returns the error in the levels of a store that keeps the other data for `retain_ns` (0: no limit); nothing if they are
// valid.
std::optional<std::string> problem_of(const std::vector<RollupLevel> &levels, int64_t retain_ns);

// Replaces old chunks by rolled points, in bounded steps on the thread of the writer. It selects the chunks of an entity in an
// interval, sums them in memory, a bounded number of points per step, and then, in one transaction, adds the rolled chunks and
// deletes their sources. If it is interrupted before, nothing has changed. Rolled chunks of an entity do not overlap, for any
// steps: overlapping ones are joined, with the longer steps. A few points that would not become smaller remain as they are,
// each as a separate step.
class Rollup {
 public:
  // `levels` are in ascending order.
  Rollup(Database &database, Packer &packer, std::vector<RollupLevel> levels, Warn warn);

  // Call it while no chunks are being packed. `work`: maximum work, in the units of the packer. True: there is more work.
  bool step(int64_t now_ns, int64_t work);
  // Call it after a rollback.
  void forget() { job_.reset(); }

 private:
  // The chunks of an entity that are being rolled up.
  struct Job {
    int64_t entity = 0, interval_ns = 0;
    std::vector<StoredChunk> sources;
    size_t at_source = 0;
    int64_t arrived_ns = INT64_MIN;
    RolledColumns columns;
    std::optional<RolledColumns> without_rollup;  // the same points without a roll-up, while they are few, to compare the sizes
  };

  // Converts a pool with chunks of several entities to chunks, at a time without roll-ups. False: there is no pool.
  bool dissolve_pool(int64_t &work);
  void continue_job(int64_t &work);
  bool choose(int64_t now_ns, int64_t &work);
  bool choose_from(RollupTable &table, int64_t every_ns, const RollupLevel &level, int64_t now_ns, int64_t &work);
  void begin(const StoredChunk &first, const RollupLevel &level, int64_t now_ns);
  bool has_rows(const StoredChunk &chunk);
  bool read(const StoredChunk &chunk, int64_t &work);
  bool is_unchanged();
  std::vector<StoredChunk> join();
  void finish(int64_t &work);
  void add_chunks();
  void encode(const std::vector<Column> &columns, Chunk &chunk);
  void exclude(const StoredChunk &chunk);
  RollupTable &table_of(const StoredChunk &chunk) { return chunk.every_ns == 0 ? chunks_ : rolled_; }

  Database &database_;
  Packer &packer_;
  const std::vector<RollupLevel> levels_;
  Warn warn_;
  bool has_warned_ = false;
  RollupTable chunks_, rolled_;
  Statement first_pool_, next_every_, add_chunk_;
  std::optional<Job> job_;
  ChunkReader reader_;
  ChunkEncoder encoder_;
  Chunk chunk_, unchanged_;
};

}  // namespace atalaya::store
