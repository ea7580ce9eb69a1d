// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "plugins/shared/store/sqlite/chunks/chunk_writer.h"
#include "plugins/shared/store/sqlite/file/database.h"
#include "plugins/shared/store/sqlite/rows/fields.h"

namespace atalaya::store {

// A window whose samples are rows.
struct OpenWindow {
  int64_t id = 0, time_ns = 0, duration_ns = 0, arrived_ns = 0;
  bool is_damaged = false;
};

// The points of one metric in a list of windows: 12 bytes each, instead of the 32 of a column.
struct CompactColumn {
  int64_t metric = 0;
  std::vector<uint32_t> places;  // 2 x the index of the window in the list, plus 1 if the number is a count
  std::vector<uint64_t> values;  // bits of the numbers

  void add(size_t window, const Number &value);
  Column column(std::span<const OpenWindow> windows) const;
};

// Reads the points of windows from their rows, in slices that fit in memory. If there are few points, also in a single window,
// the slice has all of them; otherwise it lists the entities, and each slice has some of the entities.
class SliceReader {
 public:
  // Receives each window with a damaged row, at least once per such row.
  using OnDamagedWindow = std::function<void(OpenWindow &)>;

  SliceReader(Database &database, OnDamagedWindow damaged);

  // The windows must be in order of time.
  void begin(std::vector<OpenWindow> windows);
  // Continues to read while there is `work`. True: the slice is complete.
  bool read(int64_t &work);
  // Removes the points of the slice's next entity, in ascending order of the entities, and returns them with the number of
  // their rows. False: there are no more.
  bool take(EntityPoints &points, int64_t &rows);
  // Starts the next slice. False: there is none.
  bool next();
  std::span<const OpenWindow> windows() const { return windows_; }
  void clear();

 private:
  enum class Stage { all, listing, slice, complete };
  struct Entity {
    int64_t id = 0;
    std::vector<CompactColumn> columns;
    size_t next = 0;  // index at which the next field is expected
    int64_t rows = 0;
    int64_t arrived_ns = INT64_MIN;  // arrival time of the last point
  };
  struct Size {
    size_t points = 0, samples = 0;  // points: estimate of the points in memory
  };

  void read_all(int64_t &work);
  void start_listing();
  void listing(int64_t &work);
  void read_slice(int64_t &work);
  // False: the row is damaged from some field on.
  bool add_row(Entity &entity, const SampleFields &fields);
  bool add_block(std::string_view block, int64_t &work);
  // Adds all entities of a block to the slice, and their points.
  bool add_whole_block(std::string_view block, int64_t &work);
  // Returns the position of the first entity with this id or a greater one.
  std::vector<Entity>::iterator place_of(int64_t id);
  bool has_room(const Size &size, int64_t entity) const;
  void add_column(Entity &entity, int64_t metric);
  void complete();

  OnDamagedWindow damaged_;
  Statement list_rows_, read_rows_;
  Stage stage_ = Stage::all;
  std::vector<OpenWindow> windows_;
  std::map<int64_t, Size> entities_;  // entities of the windows, without those of a slice
  std::vector<Entity> slice_;         // sorted by entity
  size_t removed_count_ = 0;          // number of entities that were removed from it
  size_t at_window_ = 0;
  size_t points_ = 0;           // estimate of the points in memory
  bool are_few_ = true;         // the last windows have few points
  size_t expected_points_ = 0;  // number of points of a column in the last slice, as an estimate
  size_t reserved_ = 0;         // points for which the slice has reserved memory
};

}  // namespace atalaya::store
