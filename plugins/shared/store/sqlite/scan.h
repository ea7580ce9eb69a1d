// SPDX-License-Identifier: Apache-2.0
// Reads points of series in order of time, from rows and chunks.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "plugins/shared/store/sqlite/chunks/chunk.h"
#include "plugins/shared/store/sqlite/chunks/chunk_reader.h"
#include "plugins/shared/store/sqlite/chunks/pool.h"
#include "plugins/shared/store/sqlite/file/damage.h"
#include "plugins/shared/store/sqlite/file/database.h"
#include "plugins/shared/store/sqlite/rollup/rollup_reader.h"
#include "plugins/shared/store/store.h"

namespace atalaya::store {

class Scan {
 public:
  // Adds the parts that cannot be read to `damage` and omits them.
  Scan(Database &database, std::span<const Series> series, const Range &range, PointVisitor &visitor, Damage &damage);
  void run();

 private:
  struct Wanted {
    int64_t metric = 0;
    size_t series = 0;     // index of the series in the list
    Column rows;           // rows since the last call of the visitor
    size_t delivered = 0;  // number of rows that the visitor has received
    RolledQueue rolled;    // points of rolled chunks
    Column pooled;         // points of pools, which follow in order of time
    size_t pooled_delivered = 0;
    std::optional<Steps> steps;  // steps whose summaries are of complete windows
  };
  using Group = std::map<int64_t, std::vector<Wanted>>;  // by entity, then by metric

  void run_group(Group &group);
  void add_block(Group &group, const Row &row);
  // False: the row is damaged from some field on.
  bool add_row(std::vector<Wanted> &wanted, int64_t time_ns, int64_t duration_ns, const SampleFields &fields);
  // Reads the points of the group's entities that are in pools.
  void read_pools(Group &group);
  void read_member(std::vector<Wanted> &wanted, const PoolReader::Member &member, int64_t pool);
  // Removes points at times at which a chunk of the entity has points, which are newer.
  void remove_newer(int64_t entity, std::vector<Wanted> &wanted);
  // Moves the points of pools up to a time to the rows, except those at times of rows.
  static void take_pooled(Wanted &wanted, int64_t until_ns);
  // Passes all points in the range to the visitor.
  void deliver(Group &group, const Range &range);
  void deliver_packed(int64_t entity, std::vector<Wanted> &wanted, const Range &range);
  void deliver_chunk(std::vector<Wanted> &wanted, const Row &chunk, const Range &range);
  // Reads the rolled chunks that start before the end of an interval. Passes points that are before both to the visitor.
  void take_rolled(std::vector<Wanted> &wanted, int64_t first_ns, int64_t last_ns, const Range &range);
  // True: the visitor accepted the summary instead of the points.
  bool take(const Wanted &wanted, const Part &part, const Summary &summary);
  // False: the part is damaged.
  bool deliver_part(Wanted &wanted, const Part &part, const Range &range);
  bool deliver_blocks(Wanted &wanted, const Part &part, const Range &range);
  bool read_part(const Part &part, const Times *&times);
  // Passes the points of a part that was read, and the rows between them, to the visitor.
  void deliver_stored(Wanted &wanted, const Part &part, const Times &stored, size_t begin, size_t end);
  void deliver_rows(Wanted &wanted, size_t end);
  void deliver_until(Wanted &wanted, int64_t until_ns);
  void deliver(Wanted &wanted, const Column &points, size_t begin, size_t end);
  // Passes points, and the rolled points before them, to the visitor.
  void deliver(Wanted &wanted, const Points &points);
  void deliver_rolled(Wanted &wanted, int64_t until_ns);

  std::span<const Series> series_;
  Range range_;
  PointVisitor &visitor_;
  Damage &damage_;
  Statement rows_, chunks_, packed_, pools_;
  RolledChunks rolled_;
  std::vector<RolledPoint> rolled_points_;
  ChunkReader reader_;
  PoolReader pool_;
  Values values_;
  Column merged_;
  std::vector<bool> metrics_;  // by id: a metric of any selected entity
  size_t buffered_ = 0;
  std::vector<int64_t> packed_until_ns_;  // by entity of a group: no later point is in chunks
  std::vector<double> reals_;
  std::vector<int64_t> counts_;
};

}  // namespace atalaya::store
