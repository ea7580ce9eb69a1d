// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plugins/shared/store/sqlite/file/database.h"
#include "plugins/shared/store/sqlite/names/dictionary.h"
#include "plugins/shared/store/sqlite/packing/packer.h"
#include "plugins/shared/store/sqlite/rollup/rollup.h"

namespace atalaya::store {

struct Limits {
  int64_t retain_ns = 0;  // maximum age since arrival; 0: no limit
  int64_t max_bytes = 0;  // maximum size of the data; the oldest arrivals are deleted first; 0: no limit
  // minimum free space of the disk, for which the oldest arrivals are deleted until 64 MiB remain; 0: no limit
  int64_t min_free_bytes = 0;
  std::vector<RollupLevel> rollup = {};                     // levels in ascending order, each with a separate `retain`
  int64_t min_retain_ns = 0;                                // limits of size delete no data that arrived less than this time ago
  int64_t max_joined_ns = int64_t{86'400} * 1'000'000'000;  // maximum distance of the times of points in a joined chunk
};

// Deletes data in the order of its arrival, a bounded number of rows per step, and returns the space to the file system. Data
// that arrived less than `min_retain` ago remains, whatever the size: acknowledged data can be read. Times are those of
// ArrivalClock.
class Retention {
 public:
  Retention(Database &database, const Limits &limits);

  // Deletes at most `rows` samples and stacks, or chunks with the same cost, if a limit is exceeded. Throws Error.
  void step(int64_t now_ns, int64_t rows, Dictionary &dictionary, Packer &packer);
  // The data is larger than max_bytes.
  bool is_over_size() { return limits_.max_bytes > 0 && used_bytes() > limits_.max_bytes; }
  // In the last step the data was too large, and nothing could be deleted.
  bool is_stuck() const { return is_stuck_; }
  const Limits &limits() const { return limits_; }

 private:
  struct Need {
    int64_t young_ns = INT64_MAX;                         // data that arrived at this time or later remains
    int64_t expired_ns = INT64_MIN;                       // data that arrived before this time is older than its limit
    bool windows = false, chunks = false, spans = false;  // expired data exists
    bool rolled = false;                                  // there are rolled chunks older than the limit of their level
    int64_t missing_bytes = 0;                            // bytes to free inside the file
    bool any() const { return windows || chunks || spans || rolled || missing_bytes > 0; }
  };
  int64_t young_since(int64_t now_ns) const;
  Need need(int64_t now_ns);
  int64_t used_bytes();
  int64_t missing_bytes();
  struct Arrived {
    int64_t id = 0, arrived_ns = 0;
  };
  static std::optional<Arrived> first_of(Statement &statement, int64_t before_ns);
  // Deletes the oldest data over a limit, or a part of it; false: no data is over a limit.
  bool delete_oldest(const Need &need, int64_t &rows, Packer &packer);
  // Deletes the window, or a part of it with `rows` rows. True if the complete window was deleted.
  bool delete_window(const Arrived &window, int64_t &rows);
  // Deletes rolled points that are older than the limit of their level; returns whether there were any.
  bool delete_rolled(int64_t now_ns, int64_t &rows);
  int64_t retain_of(int64_t every_ns) const;
  std::optional<int64_t> expired_rolled(int64_t now_ns);
  // Deletes the rows of a window from a table of samples or stacks, with a statement that deletes one row and returns the
  // number for which it counts. A row of stacks counts by its size, because it has a number for each stack.
  static bool delete_rows(Statement &statement, int64_t window, int64_t &rows);
  // Deletes ended spans that arrived before this time; returns their count.
  int64_t delete_ended_spans(int64_t before_ns, int64_t rows);
  // Deletes spans above the maximum number; returns their count. Deletes open spans first, because no samples belong to them,
  // and the remaining ones last.
  int64_t delete_surplus_spans(int64_t before_ns);
  int64_t delete_any_spans(int64_t before_ns, int64_t rows);
  void release_space();

  Database &database_;
  Limits limits_;
  std::string folder_;
  int64_t page_size_;
  Statement pages_, free_pages_;
  Statement oldest_window_, oldest_chunk_, oldest_rolled_, oldest_arrival_, oldest_window_arrival_, waiting_window_, expired_span_,
      open_spans_;
  Statement next_every_, expired_rolled_;
  Statement delete_samples_, delete_stacks_, delete_ended_spans_, delete_open_spans_, delete_any_spans_, delete_window_,
      delete_late_, delete_chunk_, delete_rolled_, delete_collected_;
  bool is_stuck_ = false;
};

}  // namespace atalaya::store
