// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/store/sqlite/chunks/chunk_writer.h"
#include "plugins/shared/store/sqlite/chunks/pool_writer.h"
#include "plugins/shared/store/sqlite/file/database.h"
#include "plugins/shared/store/sqlite/packing/slice_reader.h"

namespace atalaya::store {

// Converts rows to chunks, in bounded steps on the thread of the writer. It selects the windows of an interval without further
// writes, and reads their points (slice_reader.h). It adds their chunks, and then, in one transaction, makes the chunks valid
// and marks the windows as packed. Their rows are deleted afterwards. If the process ends earlier, the rows still exist: chunks
// that are not valid yet are deleted and made again.
class Packer {
 public:
  // `has_pools`: short-lived entities share chunks.
  Packer(Database &database, bool has_pools, Warn warn);

  // `work`: approximate number of rows that it may read or delete. True: there is more work.
  bool step(int64_t now_ns, int64_t work);
  // Call it before a batch writes to the window.
  void mark_written(int64_t window, int64_t time_ns);
  // The window was changed: discards its data.
  void discard(int64_t window);
  void start_batch() { ++batch_; }
  // Makes chunks of an entity's points immediately, in the caller's transaction. No unpacked row may be between them.
  void put(int64_t entity, std::vector<Column> columns, int64_t arrived_ns);
  // Makes chunks of a pool's members immediately, in the caller's transaction, while no chunks are being packed. False: the
  // pool is damaged.
  bool dissolve(int64_t pool) { return pools_.dissolve(pool); }
  // Whether an entity has rows in windows that are not packed. damaged: one of these windows cannot be packed.
  enum class Rows { none, some, damaged };
  Rows rows_of(int64_t entity, int64_t first_ns, int64_t last_ns);
  // Call it after the rollback of a step.
  void forget();

 private:
  enum class Stage { choose, read, encode, finish, clean };
  // An interval, and the time until which its arrivals are too new.
  struct Unsettled {
    int64_t begin_ns = 0, end_ns = 0, checked_ns = 0, until_ns = 0;
  };

  bool sweep(int64_t &work);
  bool find_work(int64_t now_ns);
  bool choose(int64_t now_ns);
  bool has_no_recent_writes(int64_t begin_ns, int64_t end_ns) const;
  bool is_settled(int64_t begin_ns, int64_t end_ns, int64_t now_ns);
  void begin(int64_t begin_ns, int64_t end_ns);
  void exclude(OpenWindow &window);
  void encode(int64_t &work);
  int64_t finish_cost() const;
  void finish(int64_t &work);
  void pack_windows();
  void clean(int64_t &work);
  void start_again();

  Database &database_;
  bool has_pools_;
  Warn warn_;
  bool has_warned_ = false;
  Statement first_open_, last_time_, count_open_, last_arrival_, list_open_;
  Statement find_rows_;
  Statement next_chunk_, start_unfinished_, end_unfinished_, delete_unfinished_;
  Statement leave_window_, pack_windows_, packed_window_, has_others_, has_more_, delete_all_samples_, delete_samples_,
      swept_windows_, delete_windows_, forget_late_;

  Stage stage_ = Stage::clean;
  uint64_t batch_ = 0, checked_batch_ = 0;  // checked_batch_: at that batch there was nothing to pack
  int64_t checked_ns_ = INT64_MIN;
  Unsettled unsettled_;
  std::map<int64_t, uint64_t> touched_;  // by interval of ten minutes: the last batch that wrote to it
  SliceReader reader_;                   // reads the windows that are being packed
  EntityPoints points_;                  // points that are being packed
  ChunkWriter writer_;
  PoolWriter pools_;
};

}  // namespace atalaya::store
