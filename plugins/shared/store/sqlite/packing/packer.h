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

// Turns rows into chunks, in bounded steps on the thread of the writer.
//
// It takes the windows of a stretch of time without further writes, and reads their points (slice_reader.h). It adds their chunks,
// and then, in one transaction, makes the chunks count and the windows packed. Their rows are deleted afterwards. Whatever ends it
// in between, the rows are there: chunks that do not count yet are deleted and made again.
class Packer {
 public:
  // `has_pools`: entities that lived for a short time share chunks.
  Packer(Database &database, bool has_pools, Warn warn);

  // `work`: about how many rows it may read or delete. True: there is more to do at once.
  bool step(int64_t now_ns, int64_t work);
  // Call before a batch writes to the window.
  void touch(int64_t window, int64_t time_ns);
  // The window was changed: discards its data.
  void lose(int64_t window);
  void start_batch() { ++batch_; }
  // Makes chunks of an entity's points at once, in the caller's transaction. There is no unpacked row between them.
  void put(int64_t entity, std::vector<Column> columns, int64_t arrived_ns);
  // Makes chunks of a pool's members at once, in the caller's transaction, while no chunks are being packed. False: it is damaged.
  bool dissolve(int64_t pool) { return pools_.dissolve(pool); }
  // Whether an entity has rows in windows that are not packed; damaged: one of these windows is left as it is.
  enum class Rows { none, some, damaged };
  Rows rows_of(int64_t entity, int64_t first_ns, int64_t last_ns);
  // After a rollback of a step.
  void forget();

 private:
  enum class Stage { choose, read, encode, finish, clean };
  // A stretch, and until when it has arrivals that are too new.
  struct Unsettled {
    int64_t begin_ns = 0, end_ns = 0, checked_ns = 0, until_ns = 0;
  };

  bool sweep(int64_t &work);
  bool find_work(int64_t now_ns);
  bool choose(int64_t now_ns);
  bool is_quiet(int64_t begin_ns, int64_t end_ns) const;
  bool is_settled(int64_t begin_ns, int64_t end_ns, int64_t now_ns);
  void begin(int64_t begin_ns, int64_t end_ns);
  void leave(OpenWindow &window);
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
  uint64_t batch_ = 0, checked_batch_ = 0;  // looked_: there was nothing to do then
  int64_t looked_ns_ = INT64_MIN;
  Unsettled unsettled_;
  std::map<int64_t, uint64_t> touched_;  // a stretch of ten minutes -> the last batch that wrote to it
  SliceReader reader_;                   // of the windows that are being packed
  EntityPoints points_;                  // that are becoming chunks
  ChunkWriter writer_;
  PoolWriter pools_;
};

}  // namespace atalaya::store
