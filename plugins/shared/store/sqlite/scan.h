// SPDX-License-Identifier: Apache-2.0
// Points of series in order of time, from rows and chunks.
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
  // Adds the parts that cannot be read to `damage` and leaves them out.
  Scan(Database &database, std::span<const Series> series, const Range &range, PointVisitor &visitor, Damage &damage);
  void run();

 private:
  struct Wanted {
    int64_t metric = 0;
    size_t series = 0;   // its place in the list
    Column rows;         // since the last hand-over
    size_t given = 0;    // how many of them are handed over
    RolledQueue rolled;  // of rolled chunks
    Column pooled;       // points of pools, which come next in time
    size_t pooled_given = 0;
    std::optional<Steps> steps;  // whose summaries are of whole windows
  };
  using Group = std::map<int64_t, std::vector<Wanted>>;  // by entity; by metric in it

  void run_group(Group &group);
  void add_block(Group &group, const Row &row);
  // False: damaged, from some field on.
  bool add_row(std::vector<Wanted> &wanted, int64_t time_ns, int64_t duration_ns, const SampleFields &fields);
  // Reads the points of the group's entities that are in pools.
  void read_pools(Group &group);
  void read_member(std::vector<Wanted> &wanted, const PoolReader::Member &member, int64_t pool);
  // Takes those out whose time is in a chunk of the entity: it is newer.
  void remove_newer(int64_t entity, std::vector<Wanted> &wanted);
  // Points of pools up to a time become rows, unless there is a row of their time.
  static void take_pooled(Wanted &wanted, int64_t until_ns);
  // Hands over everything in the range.
  void hand_over(Group &group, const Range &range);
  void hand_over_packed(int64_t entity, std::vector<Wanted> &wanted, const Range &range);
  void hand_over_chunk(std::vector<Wanted> &wanted, const Row &chunk, const Range &range);
  // Reads the rolled chunks that begin before the end of a stretch; points before both are handed over.
  void take_rolled(std::vector<Wanted> &wanted, int64_t first_ns, int64_t last_ns, const Range &range);
  // True: the visitor took the summary in place of the points.
  bool take(const Wanted &wanted, const Part &part, const Summary &summary);
  // False: damaged.
  bool hand_over_part(Wanted &wanted, const Part &part, const Range &range);
  bool hand_over_blocks(Wanted &wanted, const Part &part, const Range &range);
  bool read_part(const Part &part, const Times *&times);
  // Points of a part that was read, with the rows between them.
  void give_part(Wanted &wanted, const Part &part, const Times &stored, size_t begin, size_t end);
  void hand_over_rows(Wanted &wanted, size_t end);
  void hand_over_until(Wanted &wanted, int64_t until_ns);
  void give(Wanted &wanted, const Column &points, size_t begin, size_t end);
  // With the rolled points that come before them.
  void give(Wanted &wanted, const Points &points);
  void give_rolled(Wanted &wanted, int64_t until_ns);

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
  std::vector<bool> metrics_;  // wanted of any entity
  size_t buffered_ = 0;
  std::vector<int64_t> packed_until_ns_;  // of the entities of a group: nothing later is in chunks
  std::vector<double> reals_;
  std::vector<int64_t> counts_;
};

}  // namespace atalaya::store
