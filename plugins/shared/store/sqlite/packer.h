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
#include "plugins/shared/store/sqlite/database.h"

namespace atalaya::store {

// Turns rows into chunks, in bounded steps on the thread of the writer.
//
// It takes the windows of a stretch of time without further writes: reads all of their points if they are few; else lists their
// entities and reads a slice of the entities after another. It adds their chunks, and then, in one transaction, makes the chunks
// count and the windows packed. Their rows are deleted afterwards. Whatever ends it in between, the rows are there: chunks that do
// not count yet are deleted and made again.
class Packer {
 public:
  // `has_pools`: entities that lived for a short time share chunks.
  Packer(Database &database, bool has_pools, Warn warn);

  // `work`: about how many rows it may read or delete. True: there is more to do at once.
  bool step(int64_t now_ns, int64_t work);
  // A batch is about to write to the window.
  void touch(int64_t window, int64_t time_ns);
  // The window was changed: discards its data.
  void lose(int64_t window);
  void begin_batch() { ++batch_; }
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
  enum class Stage { choose, read_all, survey, read, encode, finish, clean };
  struct Window {
    int64_t id = 0, time_ns = 0, duration_ns = 0, arrived_ns = 0;
    bool is_damaged = false;
  };
  struct Entity {
    PointsOfEntity points;
    size_t next = 0;  // where the next field is likely to go
    int64_t rows = 0;
  };

  struct Size {
    size_t bytes = 0, samples = 0;
  };

  bool sweep(int64_t &work);
  bool look_for_work(int64_t now_ns);
  bool choose(int64_t now_ns);
  bool is_quiet(int64_t begin_ns, int64_t end_ns) const;
  void begin(int64_t begin_ns, int64_t end_ns);
  void read_all(int64_t &work);
  void begin_survey();
  void survey(int64_t &work);
  void begin_slice();
  void read(int64_t &work);
  // False: the row is damaged, from some field on.
  bool add_row(Entity &entity, const Window &window, std::string_view fields);
  bool add_block(Window &window, std::string_view block, int64_t &work);
  // The same for all of its entities, which are added to the slice.
  bool add_whole_block(Window &window, std::string_view block, int64_t &work);
  void leave(Window &window);
  void encode(int64_t &work);
  int64_t cost_of_finish() const;
  void finish(int64_t &work);
  void clean(int64_t &work);
  void start_again();

  Database &database_;
  bool has_pools_;
  Warn warn_;
  bool has_warned_ = false;
  Statement first_open_, last_time_, count_open_, last_arrival_, list_open_;
  Statement list_rows_, read_rows_, find_rows_;
  Statement next_chunk_, begin_unfinished_, end_unfinished_, delete_unfinished_;
  Statement leave_window_, pack_window_, packed_window_, has_more_, delete_all_samples_, delete_samples_, has_stacks_,
      delete_window_, swept_window_;

  Stage stage_ = Stage::clean;
  uint64_t batch_ = 0, looked_batch_ = 0;  // looked_: there was nothing to do then
  int64_t looked_ns_ = INT64_MIN;
  std::map<int64_t, uint64_t> touched_;  // a stretch of ten minutes -> the last batch that wrote to it
  std::vector<Window> windows_;          // being packed, in order of time
  std::map<int64_t, Size> entities_;     // in them; those of a slice are taken out
  size_t at_window_ = 0;
  std::vector<Entity> slice_;
  size_t at_slice_ = 0;
  size_t points_ = 0;    // in the slice
  bool are_few_ = true;  // the points of the last stretch
  ChunkWriter writer_;
  PoolWriter pools_;
};

}  // namespace atalaya::store
