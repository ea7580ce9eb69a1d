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
  std::vector<uint32_t> places;  // twice the place of the window in the list; 1 more if the number is a count
  std::vector<uint64_t> values;  // the bits of the numbers

  void add(size_t window, const Number &value);
  Column column(std::span<const OpenWindow> windows) const;
};

// Reads the points of windows from their rows, in slices that fit in memory: all of them at once if they are few, also in one
// window; else it lists their entities, and reads a slice of the entities after another.
class SliceReader {
 public:
  // Called for a window with a damaged row, at least once for each such row.
  using Damaged = std::function<void(OpenWindow &)>;

  SliceReader(Database &database, Damaged damaged);

  // In order of time.
  void begin(std::vector<OpenWindow> windows);
  // Reads on while there is `work`. True: the slice is complete.
  bool read(int64_t &work);
  // The points of the slice's next entity, and in how many rows they were, in ascending order of the entities; they leave the
  // slice. False: there are no more.
  bool take(EntityPoints &points, int64_t &rows);
  // Begins the next slice; false: there is none.
  bool next();
  std::span<const OpenWindow> windows() const { return windows_; }
  void clear();

 private:
  enum class Stage { all, survey, slice, complete };
  struct Entity {
    int64_t id = 0;
    std::vector<CompactColumn> columns;
    size_t next = 0;  // where the next field is likely to go
    int64_t rows = 0;
    int64_t arrived_ns = INT64_MIN;  // the last of them
  };
  struct Size {
    size_t points = 0, samples = 0;  // points: about, that take memory
  };

  void read_all(int64_t &work);
  void start_survey();
  void survey(int64_t &work);
  void read_slice(int64_t &work);
  // False: the row is damaged, from some field on.
  bool add_row(Entity &entity, const SampleFields &fields);
  bool add_block(std::string_view block, int64_t &work);
  // The same for all of its entities, which are added to the slice.
  bool add_whole_block(std::string_view block, int64_t &work);
  // Of the first entity with this id or a greater one.
  std::vector<Entity>::iterator place_of(int64_t id);
  bool has_room(const Size &size, int64_t entity) const;
  void add_column(Entity &entity, int64_t metric);
  void complete();

  Damaged damaged_;
  Statement list_rows_, read_rows_;
  Stage stage_ = Stage::all;
  std::vector<OpenWindow> windows_;
  std::map<int64_t, Size> entities_;  // of the windows, without those of a slice
  std::vector<Entity> slice_;         // ascending by entity
  size_t taken_ = 0;                  // entities that were taken from it
  size_t at_window_ = 0;
  size_t points_ = 0;    // about, that take memory
  bool are_few_ = true;  // the points of the last windows
  size_t likely_ = 0;    // points of a column: as many as in the last slice
  size_t reserved_ = 0;  // points of columns, of the slice
};

}  // namespace atalaya::store
